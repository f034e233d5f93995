// SPDX-License-Identifier: BSD-2-Clause
// A list whose links are parts of what is in it: to come in or to leave allocates nothing and cannot fail.
#pragma once

namespace mrc {

template <typename Item>
class LinkedList {
 public:
  class Node {
   public:
    explicit Node(Item* item) : item_(item) {}
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    bool listed() const { return listed_; }

   private:
    friend class LinkedList;
    Item* item_;
    Node* next_ = nullptr;
    bool listed_ = false;
  };

  bool empty() const { return first_ == nullptr; }
  Item& front() const { return *first_->item_; }
  // What is listed already stays where it is.
  void push_back(Node& node) {
    if (node.listed_) return;
    node.listed_ = true;
    (first_ == nullptr ? first_ : last_->next_) = &node;
    last_ = &node;
  }
  void push_front(Node& node) {
    if (node.listed_) return;
    node.listed_ = true;
    node.next_ = first_;
    if (first_ == nullptr) last_ = &node;
    first_ = &node;
  }
  Item& pop_front() {
    Node& node = *first_;
    first_ = node.next_;
    node.next_ = nullptr;
    node.listed_ = false;
    return *node.item_;
  }
  // Looks for it.
  void remove(Node& node) {
    if (!node.listed_) return;
    Node* before = nullptr;
    for (Node* at = first_; at != &node; at = at->next_) before = at;
    (before == nullptr ? first_ : before->next_) = node.next_;
    if (last_ == &node) last_ = before;
    node.next_ = nullptr;
    node.listed_ = false;
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;  // if there is a first one
};

}  // namespace mrc
