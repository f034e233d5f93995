// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_top/screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "dpdk_io/host/monotonic_clock.h"

namespace mrc {
namespace {

constexpr size_t kOtherLines = 3;  // what is chosen, the head, and one for notes

volatile sig_atomic_t told_to_end = 0;
volatile sig_atomic_t came_back = 0;

void note_end(int) {
  told_to_end = 1;
}

void note_return(int) {
  came_back = 1;
}

void on_signal(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART: whoever waits for keys notices
  ::sigaction(signal, &action, nullptr);
}

winsize size_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    size = {24, 80, 0, 0};
  return size;
}

// With the column by which it is sorted marked.
std::string head_of(const Controls& controls, size_t width) {
  std::string line;
  size_t used = 0;
  for (const Column& column : controls.columns()) {
    const std::string cell = (used == 0 ? "" : " ") + cell_of(column, nullptr);
    if (used + cell.size() > width) break;
    used += cell.size();
    line += controls.sort() == column.key ? "\033[7m" + cell + "\033[27m" : cell;
  }
  return line;
}

}  // namespace

Screen::Screen() {
  there_ =
      ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &before_) == 0;
  if (!there_) return;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) on_signal(signal, note_end);
  on_signal(SIGCONT, note_return);
  on_signal(SIGWINCH, note_return);
  take_over();
}

Screen::~Screen() {
  if (!there_) return;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  const std::string text = "\033[?25h";  // the cursor is back
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
}

void Screen::take_over() {
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 0;
  keys.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
}

bool Screen::is_over() const {
  return gone_ || told_to_end != 0;
}

// Of what was read. Keys that are no letters come as several bytes; of those that mean nothing here nothing
// is left.
int Screen::next_key() {
  const std::string& keys = waiting_;
  size_t used = 1;
  int key = static_cast<unsigned char>(keys[0]);
  if (keys.size() > 2 && keys[0] == '\033' && (keys[1] == '[' || keys[1] == 'O')) {
    used = 2;
    while (used < keys.size() && keys[used] < '@') ++used;  // its numbers
    const char last = used < keys.size() ? keys[used] : '\0';
    key = last == 'A'                     ? static_cast<int>(kKeyUp)
          : last == 'B'                   ? static_cast<int>(kKeyDown)
          : last == 'C'                   ? static_cast<int>(kKeyRight)
          : last == 'D'                   ? static_cast<int>(kKeyLeft)
          : last == '~' && keys[2] == '5' ? static_cast<int>(kKeyPageUp)
          : last == '~' && keys[2] == '6' ? static_cast<int>(kKeyPageDown)
                                          : static_cast<int>(kNoKey);
    used = std::min(used + 1, keys.size());
  }
  waiting_.erase(0, used);
  return key;
}

int Screen::wait_for_key(uint64_t until_ns) {
  while (waiting_.empty() && !is_over()) {
    if (came_back != 0) {
      came_back = 0;
      take_over();
      return kNoKey;
    }
    const uint64_t now = monotonic_now();
    if (now >= until_ns) return kNoKey;
    const timespec rest{static_cast<time_t>((until_ns - now) / 1'000'000'000u),
                        static_cast<long>((until_ns - now) % 1'000'000'000u)};
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::ppoll(&input, 1, &rest, nullptr) <= 0) continue;
    char keys[64];
    const ssize_t bytes = ::read(STDIN_FILENO, keys, sizeof keys);
    if (bytes > 0) waiting_.assign(keys, static_cast<size_t>(bytes));
    gone_ = bytes == 0 || (bytes < 0 && errno != EINTR && errno != EAGAIN);
  }
  return waiting_.empty() ? static_cast<int>(kNoKey) : next_key();
}

size_t Screen::page() const {
  const size_t lines = size_of_terminal().ws_row;
  return lines > kOtherLines + 1 ? lines - kOtherLines : 1;
}

void Screen::draw(Controls* controls, const std::vector<Row>& rows, const std::vector<std::string>& notes) {
  const size_t width = size_of_terminal().ws_col;
  const size_t page_rows = page();
  std::string text = "\033[?25l\033[H";
  const auto line = [&](std::string words) {
    if (words.size() > width) words.resize(width);
    text += words + "\033[K\n";
  };
  line("mrc_top " + controls->summary() + "; h: help, q: end");
  if (controls->wants_help()) {
    line("");
    for (const char* words : kKeyHelp) line(words);
  } else {
    text += head_of(*controls, width) + "\033[K\n";
    const size_t first = controls->first_row(rows.size(), page_rows);
    const size_t last = std::min(rows.size(), first + page_rows);
    for (size_t i = first; i < last; ++i) line(line_of(controls->columns(), &rows[i]));
    if (rows.empty()) line("nothing: no program of this user uses a device now, or filters hide it");
    std::string bottom = controls->prompt();
    if (bottom.empty()) {
      if (rows.size() > page_rows)
        bottom = "rows " + std::to_string(first + 1) + " to " + std::to_string(last) + " of " +
                 std::to_string(rows.size());
      for (const std::string& note : notes) bottom += (bottom.empty() ? "" : "; ") + note;
    }
    if (bottom.size() > width) bottom.resize(width);
    text += bottom + "\033[K";  // no line feed: that would move all up
  }
  text += "\033[J";
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
}

}  // namespace mrc
