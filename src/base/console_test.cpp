#include "base/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace axle {
namespace {

using testing::EndsWith;
using testing::StartsWith;

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

TEST(Console, PatienceWaitsForAReaderThatGoesOn) {
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
TEST(Console, AStoppedTerminalTakesNothing) {
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

TEST(Console, ATerminalThatNobodyReadsTakesNothing) {
  const Ends terminal;
  Console console(terminal.writer);
  EXPECT_GT(fill(console), 10);
  EXPECT_FALSE(console.write("dropped\n"));
}

TEST(Console, OneThatIsGoneTakesAll) {
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

}  // namespace
}  // namespace axle
