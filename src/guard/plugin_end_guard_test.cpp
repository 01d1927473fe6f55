#include "guard/plugin_end_guard.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "base/error.h"

namespace axle {
namespace {

constexpr int kUser = static_cast<int>(ExitCode::kUser);
constexpr int kDevice = static_cast<int>(ExitCode::kDevice);

void print(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

TEST(PluginEndGuard, AbortIsReportedInOneLine) {
  const auto abort = [](const char* printed) {
    const PluginEndGuard guard("plugin 'x'");
    print(printed);
    std::abort();
  };
  EXPECT_EXIT(abort("WARNING: All log messages before ...\n"
                    "F0000 00:00:1.5 491 parse.cc:234] Unknown flag in XLA_FLAGS: --foo=1\n"
                    "*** Check failure stack trace: ***\n"),
              ::testing::ExitedWithCode(kUser),
              "^axle: plugin 'x': expected it to start, got the end of the process: Unknown flag "
              "in XLA_FLAGS: --foo=1; check the variables XLA_FLAGS and LIBTPU_INIT_ARGS\n$");
  EXPECT_EXIT(abort("F0000 00:00:1.5 491 env.cc:74] Check failed: ret == 0 thread creation\n"),
              ::testing::ExitedWithCode(kDevice),
              "got the end of the process: Check failed: ret == 0 thread");
  EXPECT_EXIT(abort(""), ::testing::ExitedWithCode(kDevice),
              "got the end of the process: no reason given\n$");
}

TEST(PluginEndGuard, CrashIsReportedInOneLine) {
  const auto crash = [](int signal, const char* printed) {
    const PluginEndGuard guard("plugin 'x'");
    print(printed);
    std::raise(signal);
  };
  EXPECT_EXIT(
      crash(SIGSEGV, ""), ::testing::ExitedWithCode(kDevice),
      "^axle: plugin 'x': expected it to start, got the end of the process: no reason given "
      "\\(SIGSEGV\\)\n$");
  EXPECT_EXIT(crash(SIGBUS, "E0000 1 2 a.cc:3] No room\nmore\n"),
              ::testing::ExitedWithCode(kDevice),
              "got the end of the process: No room \\(SIGBUS\\)\n$");
  EXPECT_EXIT(crash(SIGILL, ""), ::testing::ExitedWithCode(kDevice), "\\(SIGILL: an instruction");
}

TEST(PluginEndGuard, ExceptionOfAPluginThreadIsReportedInOneLine) {
  const auto fail = [] {
    // The code of this test program stands for a plugin's.
    watch_plugin_end("plugin 'x'", reinterpret_cast<const void*>(&print));
    const PluginEndGuard guard("plugin 'x'");
    std::thread([] { throw std::runtime_error("no room"); }).join();
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(kDevice),
              "^axle: .* got the end of the process: no room\n$");
}

TEST(PluginEndGuard, CrashOfAnotherThreadIsNotReported) {
  const auto crash = [] {
    const PluginEndGuard guard("plugin 'x'");
    std::thread([] { std::raise(SIGSEGV); }).join();
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGSEGV), "^$");
}

TEST(PluginEndGuard, MemoryLimitIsMentioned) {
  const auto abort = [] {
    const rlimit limit = {rlim_t{1} << 40, rlim_t{1} << 40};
    ::setrlimit(RLIMIT_AS, &limit);
    const PluginEndGuard guard("plugin 'x'");
    std::abort();
  };
  EXPECT_EXIT(abort(), ::testing::ExitedWithCode(kDevice), "; ulimit -v may limit its memory");
}

TEST(PluginEndGuard, ExitIsReportedInOneLine) {
  const auto end = [](void (*exit)(int), int code) {
    const PluginEndGuard guard("plugin 'x'");
    print("ERROR: Unknown command line flag 'bar'\n");
    exit(code);
  };
  for (void (*const exit)(int) : std::initializer_list<void (*)(int)>{&std::exit, &::_exit}) {
    EXPECT_EXIT(end(exit, 1), ::testing::ExitedWithCode(kUser),
                "got the end of the process: ERROR: Unknown command line flag");
  }
  // A signal handler of ours may still exit with its own code.
  EXPECT_EXIT(end(&::_exit, 130), ::testing::ExitedWithCode(130), "");
}

TEST(PluginEndGuard, TextOfThePluginIsPrintedWhenTheGuardEnds) {
  ::testing::internal::CaptureStderr();
  const std::string much(200'000, 'x');
  {
    const PluginEndGuard guard("plugin 'x'");
    print(much);
  }
  print("behind\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), much + "behind\n");
}

TEST(PluginEndGuard, TextTakenFromTheGuardIsNotPrinted) {
  ::testing::internal::CaptureStderr();
  std::string taken;
  {
    PluginEndGuard guard("plugin 'x'");
    print("a line\n");
    std::fputs("and by stdio\n", stderr);
    taken = guard.take_text();
    print("afterwards\n");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "afterwards\n");
  EXPECT_EQ(taken, "a line\nand by stdio\n");
}

TEST(PluginEndGuard, InnerGuardPassesItsTextToTheOuter) {
  ::testing::internal::CaptureStderr();
  std::string taken;
  {
    PluginEndGuard outer("report");
    {
      const PluginEndGuard inner("program 'step'", "be compiled");
      print("a warning\n");
    }
    taken = outer.take_text();
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(taken, "a warning\n");
}

TEST(PluginEndGuard, EndInsideAnInnerGuardIsPrinted) {
  const auto abort = [](bool inside) {
    const PluginEndGuard outer("report");
    {
      const PluginEndGuard inner("program 'step'", "be compiled");
      if (inside) std::abort();
    }
    std::abort();
  };
  EXPECT_EXIT(abort(true), ::testing::ExitedWithCode(kDevice),
              "^axle: program 'step': expected it to be compiled, got the end of the process: no "
              "reason given\n$");
  EXPECT_EXIT(abort(false), ::testing::ExitedWithCode(kDevice),
              "^axle: report: expected it to start");
}

TEST(PluginEndGuard, EndsAfterTheGuardKeepTheirSignals) {
  { const PluginEndGuard guard("plugin 'x'"); }
  EXPECT_EXIT(std::abort(), ::testing::KilledBySignal(SIGABRT), "^$");
  EXPECT_EXIT(std::raise(SIGSEGV), ::testing::KilledBySignal(SIGSEGV), "^$");
  EXPECT_EXIT(std::exit(7), ::testing::ExitedWithCode(7), "^$");
}

TEST(ReasonIn, TheFirstErrorCounts) {
  EXPECT_EQ(end_reason("E0000 1 2 flags.cc:93] Couldn't interpret value maybe for flag f.\n"
                       "F0000 1 2 parse.cc:220] Check failed\nusage: ...\n"),
            "Couldn't interpret value maybe for flag f.");
  EXPECT_EQ(end_reason("Exit now\n\n"), "Exit now");
  EXPECT_EQ(end_reason("terminate called after ...\n  what():  std::bad_alloc\n"),
            "std::bad_alloc");
}

TEST(ReasonIn, WarningsAreIgnored) {
  const char* const shardy = "loc(\"a\"(\"b\")): warning: 1 of 2 shardings are closed\n";
  const char* const log = "W0000 00:00:1.5 491 spmd.cc:2] slow\n";
  for (const char* const printed : {shardy, log}) {
    EXPECT_EQ(end_reason(printed), "");
    EXPECT_EQ(end_reason(printed, EndKind::kFault), "");
    EXPECT_EQ(end_reason(std::string("no room\n") + printed), "no room");
  }
}

// The last line before a fault is not its reason.
TEST(ReasonIn, FaultsOnlyHaveErrorsAsReasons) {
  EXPECT_EQ(end_reason("loading\n", EndKind::kFault), "");
  EXPECT_EQ(end_reason("E0000 1 2 a.cc:3] No room\nmore\n", EndKind::kFault), "No room");
}

}  // namespace
}  // namespace axle
