#include "base/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "testing/environment_change.h"

namespace axle {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

// Both ends of a pipe of pipe_bytes bytes, or of a terminal.
struct Ends {
  int reader = -1, writer = -1;

  explicit Ends(int pipe_bytes) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    ::fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);
    reader = ends[0];
    writer = ends[1];
  }
  Ends() {
    reader = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (::grantpt(reader) != 0 || ::unlockpt(reader) != 0) std::abort();
    writer = ::open(::ptsname(reader), O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  ~Ends() {
    lose_reader();
    ::close(writer);
  }
  void lose_reader() {
    if (reader >= 0) ::close(std::exchange(reader, -1));
  }
  // Reads everything that is available now.
  std::string read() const {
    ::fcntl(reader, F_SETFL, O_NONBLOCK);
    std::string out;
    char piece[4096];
    for (ssize_t n; (n = ::read(reader, piece, sizeof piece)) > 0;)
      out.append(piece, static_cast<size_t>(n));
    return out;
  }
};

// Returns the number of lines that the console accepts before it is full. An endless wait hangs the
// test.
int fill(Console& console) {
  for (int i = 0; i < 100'000; ++i) {
    if (!console.write(fmt::format("line {}\n", i))) return i;
  }
  ADD_FAILURE() << "the console is never full";
  return 0;
}

TEST(Console, LinesThatAPipeDoesNotTakeAreDroppedAndCounted) {
  const Ends pipe(1 << 16);
  Console console(pipe.writer);
  EXPECT_GT(fill(console), 100);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(console.write("dropped\n"));
  EXPECT_FALSE(console.write("a bar that is drawn again"));
  EXPECT_THAT(pipe.read(), StartsWith("line 0\nline 1\n"));
  EXPECT_TRUE(console.write("taken\n", "\r"));
  EXPECT_TRUE(console.write("taken as well\n"));
  EXPECT_EQ(pipe.read(),
            "\r(7 lines were dropped: the console accepted nothing)\ntaken\ntaken as well\n");
}

TEST(Console, ALongTextIsCutWhereAPipeIsFull) {
  const Ends pipe(1 << 13);
  Console console(pipe.writer);
  std::string text(10'000, 'x');
  text.back() = '\n';
  EXPECT_FALSE(console.write(text));
  EXPECT_EQ(pipe.read(), std::string(1 << 13, 'x'));
  EXPECT_TRUE(console.write("next\n"));
  EXPECT_EQ(pipe.read(), "\n(1 line was dropped: the console accepted nothing)\nnext\n");
}

TEST(Console, ALongTextIsTakenWhereThereIsRoom) {
  const Ends pipe(1 << 16);
  const std::string text(20'000, 'x');
  EXPECT_EQ(write_with_timeout(pipe.writer, text), text.size());
  EXPECT_EQ(pipe.read(), text);
}

TEST(Console, TimeoutWaitsForAReader) {
  const Ends pipe(1 << 16);
  Console console(pipe.writer), patient(pipe.writer, std::chrono::minutes(1));
  fill(console);
  std::string read;
  std::jthread reader([&] { read = pipe.read(); });
  EXPECT_TRUE(patient.write("taken\n"));
  reader.join();
  EXPECT_THAT(read + pipe.read(), EndsWith("taken\n"));
}

// As Ctrl-S and Ctrl-Q do.
TEST(Console, DropsLinesWhileTheTerminalIsStopped) {
  const Ends terminal;
  Console console(terminal.writer);
  EXPECT_TRUE(console.write("before\n"));
  ::tcflow(terminal.writer, TCOOFF);
  EXPECT_FALSE(console.write("dropped\n"));
  ::tcflow(terminal.writer, TCOON);
  EXPECT_TRUE(console.write("after\n"));
  EXPECT_EQ(terminal.read(),
            "before\r\n(1 line was dropped: the console accepted nothing)\r\nafter\r\n");
}

TEST(Console, DropsLinesWhenATerminalIsNotRead) {
  const Ends terminal;
  Console console(terminal.writer);
  EXPECT_GT(fill(console), 10);
  EXPECT_FALSE(console.write("dropped\n"));
}

TEST(Console, AcceptsAllOutputWhenTheReaderHasClosed) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Ends pipe(1 << 16);
  Console console(pipe.writer);
  fill(console);
  pipe.lose_reader();
  EXPECT_TRUE(console.write("lost\n"));
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(write_with_timeout(full, "lost"), 4u);
  ::close(full);
  EXPECT_EQ(write_with_timeout(full, "lost"), 4u);
  std::signal(SIGPIPE, before);
}

// Other processes share the descriptor and its flags.
TEST(Console, FlagsOfADescriptorStayAsTheyAre) {
  const Ends pipe(1 << 16), terminal;
  for (const Ends* ends : {&pipe, &terminal}) {
    const int before = ::fcntl(ends->writer, F_GETFL);
    Console console(ends->writer);
    fill(console);
    EXPECT_EQ(::fcntl(ends->writer, F_GETFL), before);
    EXPECT_EQ(before & O_NONBLOCK, 0);
  }
}

void set_columns(const Ends& terminal, unsigned short columns) {
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(terminal.writer, TIOCSWINSZ, &size), 0);
}

// What a terminal shows: the rows of a screen that is high enough, of what programs here write.
// When it becomes narrower, it wraps rows that are too long, as most do, or cuts them.
class Screen {
 public:
  Screen(size_t columns, bool wraps_again) : columns_(columns), wraps_again_(wraps_again) {}

  void write(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\r') {
        column_ = 0;
      } else if (c == '\n') {
        ++row_;
      } else if (c == '\033') {
        const size_t end = text.find_first_of("JKm", i);
        if (text[end] == 'J') rows_.resize(row_ + 1);
        if (text[end] != 'm') rows_[row_].resize(std::min(rows_[row_].size(), column_));
        i = end;
      } else {
        if (column_ == columns_) ++row_, column_ = 0;
        at(row_).resize(std::max(at(row_).size(), column_ + 1), ' ');
        at(row_)[column_++] = c;
      }
      at(row_);
    }
  }

  // The cursor stays at the character that it is at.
  void narrow(size_t columns) {
    std::vector<std::string> rows;
    size_t row = 0, column = 0;
    for (size_t r = 0; r < rows_.size(); ++r) {
      const std::string& text = rows_[r];
      if (r == row_) row = rows.size() + column_ / columns, column = column_ % columns;
      rows.push_back(text.substr(0, columns));
      for (size_t at = columns; wraps_again_ && at < text.size(); at += columns)
        rows.push_back(text.substr(at, columns));
    }
    rows_ = rows, row_ = row, column_ = column, columns_ = columns;
  }

  std::string text() const {
    std::string out;
    for (const std::string& row : rows_) out += row + "|";
    return out;
  }

 private:
  std::string& at(size_t row) {
    if (rows_.size() <= row) rows_.resize(row + 1);
    return rows_[row];
  }
  size_t columns_;
  bool wraps_again_;
  std::vector<std::string> rows_ = {""};
  size_t row_ = 0, column_ = 0;
};

class StatusLines : public ::testing::TestWithParam<bool> {
 protected:
  void shows(const std::string& text) {
    screen_.write(terminal_.read());
    EXPECT_EQ(screen_.text(), text);
  }
  void narrow(unsigned short columns) {
    screen_.write(terminal_.read());
    set_columns(terminal_, columns);
    screen_.narrow(columns);
  }
  void SetUp() override { set_columns(terminal_, 20); }
  const EnvironmentChange term_{"TERM", "xterm"};
  const Ends terminal_;
  Screen screen_{20, GetParam()};
};

TEST_P(StatusLines, LeaveNoRemainsOnTheScreen) {
  {
    StatusLine line(terminal_.writer);
    EXPECT_TRUE(line.print("a note\n"));
    line.draw("12345678901234567890123456");
    shows("a note|12345678901234567890|");
    line.draw("step 2");
    shows("a note|step 2|");
    line.draw("[========>    ] step 3");
    narrow(8);
    line.draw("[==========>  ] step 4");
    shows("a note|[=======|");
    narrow(3);
    EXPECT_TRUE(line.print("b\n"));
    line.draw("[==========>  ] step 5");
    narrow(2);
    line.draw("xyz");
  }
  screen_.write(terminal_.read());
  EXPECT_THAT(screen_.text(), EndsWith("|b|xy||"));
  EXPECT_EQ(screen_.text().find('['), std::string::npos);
}

// Other text that goes to the same terminal does not mix with the line.
TEST_P(StatusLines, AreErasedByOtherOutput) {
  StatusLine line(terminal_.writer);
  Console other(terminal_.writer);
  line.draw("[====> ] step 3");
  EXPECT_TRUE(other.write("WARNING: w\n"));
  shows("WARNING: w||");
  line.draw("[=====>] step 4");
  shows("WARNING: w|[=====>] step 4|");
}

INSTANTIATE_TEST_SUITE_P(Terminals, StatusLines, ::testing::Bool(), [](const auto& wraps) {
  return std::string(wraps.param ? "ThatWrapAgain" : "ThatCut");
});

TEST(StatusLine, IsCutBetweenCharacters) {
  const EnvironmentChange term("TERM", "xterm");
  const Ends terminal;
  set_columns(terminal, 3);
  StatusLine line(terminal.writer);
  line.draw("a\u00e4\u20ac\u00df");
  EXPECT_EQ(terminal.read(), "\r\033[Ja\u00e4\u20ac\r");
}

TEST(StatusLine, IsNotDrawnOnPipesAndDumbTerminals) {
  const Ends pipe(4096), terminal;
  const EnvironmentChange term("TERM", "dumb");
  for (const Ends* ends : {&pipe, &terminal}) {
    StatusLine line(ends->writer);
    EXPECT_FALSE(line.is_shown());
    line.draw("step 3");
    line.print("a note\n");
    EXPECT_THAT(ends->read(), ::testing::MatchesRegex("a note\r?\n"));
  }
}

TEST(Colours, MarkWarningsOnTerminalsThatShowColour) {
  const EnvironmentChange term("TERM", "xterm");
  EnvironmentChange no_colour("NO_COLOR", std::nullopt);
  const Ends pipe(4096), terminal;
  const std::string text = "a\nwarning: b WARNING\nWARNING: c\n  warning\nwarning";
  EXPECT_EQ(with_coloured_warnings(text, pipe.writer), text);
  EXPECT_EQ(with_coloured_warnings(text, terminal.writer),
            "a\n\033[1;33mwarning\033[0m: b WARNING\n\033[1;33mWARNING\033[0m: c\n  warning\n"
            "\033[1;33mwarning\033[0m");
  EXPECT_EQ(with_coloured_warnings("", terminal.writer), "");
  no_colour.set("1");
  EXPECT_EQ(with_coloured_warnings(text, terminal.writer), text);
  no_colour.set("");
  EXPECT_NE(with_coloured_warnings(text, terminal.writer), text);
  const EnvironmentChange dumb("TERM", "dumb");
  EXPECT_EQ(with_coloured_warnings(text, terminal.writer), text);
}

}  // namespace
}  // namespace axle
