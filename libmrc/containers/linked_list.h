// SPDX-License-Identifier: BSD-2-Clause
// A list whose links are parts of what is in it: to come in or to leave allocates nothing, cannot fail and
// takes the same time however long the list is.
#pragma once

#include <cstddef>
#include <utility>

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
    Node* previous_ = nullptr;
    bool listed_ = false;
  };

  bool empty() const { return first_ == nullptr; }
  size_t size() const { return size_; }
  Item& front() const { return *first_->item_; }
  Item& back() const { return *last_->item_; }
  // The one behind the first, or null. There is a first.
  Item* second() const { return first_->next_ != nullptr ? first_->next_->item_ : nullptr; }
  // What is listed already stays where it is.
  void push_back(Node& node) {
    if (node.listed_) return;
    node.listed_ = true;
    node.previous_ = last_;
    (last_ == nullptr ? first_ : last_->next_) = &node;
    last_ = &node;
    ++size_;
  }
  void push_front(Node& node) {
    if (node.listed_) return;
    node.listed_ = true;
    node.next_ = first_;
    (first_ == nullptr ? last_ : first_->previous_) = &node;
    first_ = &node;
    ++size_;
  }
  Item& pop_front() {
    Node& node = *first_;
    remove(node);
    return *node.item_;
  }
  void remove(Node& node) {
    if (!node.listed_) return;
    (node.previous_ == nullptr ? first_ : node.previous_->next_) = node.next_;
    (node.next_ == nullptr ? last_ : node.next_->previous_) = node.previous_;
    node.next_ = node.previous_ = nullptr;
    node.listed_ = false;
    --size_;
  }
  // The first comes behind the last. There is a first.
  void rotate() {
    Node& node = *first_;
    remove(node);
    push_back(node);
  }
  // All of `others`, in their order, come before those that are here.
  void push_front(LinkedList& others) {
    if (others.first_ == nullptr) return;
    others.last_->next_ = first_;
    (first_ == nullptr ? last_ : first_->previous_) = others.last_;
    first_ = others.first_;
    size_ += std::exchange(others.size_, 0);
    others.first_ = others.last_ = nullptr;
  }
  // None may come or leave meanwhile.
  template <typename Each>
  void for_each(Each&& each) const {
    for (const Node* node = first_; node != nullptr; node = node->next_) each(*node->item_);
  }
  // The first that it is true for, or null.
  template <typename Is>
  Item* find(Is&& is) const {
    for (const Node* node = first_; node != nullptr; node = node->next_)
      if (is(*node->item_)) return node->item_;
    return nullptr;
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace mrc
