#include "pjrt/plugin/plugin_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace axle {
namespace {

using ::testing::ElementsAre;

// Notes what it is told.
class Recorder final : public PluginWatch {
 public:
  Recorder() { set_plugin_watch(this); }
  ~Recorder() override { set_plugin_watch(nullptr); }

  void loaded(const std::string& where, const void*) override { told.push_back("loaded " + where); }
  void enter() override { told.push_back("enter"); }
  void leave() override { told.push_back("leave"); }
  std::unique_ptr<Guard> guard(const std::string& where, std::string_view purpose) override {
    told.push_back(where + " is to " + std::string(purpose));
    return std::make_unique<Task>(*this);
  }

  std::vector<std::string> told;

 private:
  struct Task final : Guard {
    explicit Task(Recorder& of) : recorder(of) {}
    ~Task() override { recorder.told.push_back("end"); }
    std::string take_text() override { return "a warning\n"; }
    Recorder& recorder;
  };
};

TEST(PluginWatch, OutputIsNotHeldBackIfThereIsNoWatch) {
  EXPECT_EQ(plugin_watch(), nullptr);
  ::testing::internal::CaptureStderr();
  PluginTask task("plugin 'x'");
  const PluginCall inside;
  EXPECT_EQ(::write(STDERR_FILENO, "a warning\n", 10), 10);
  EXPECT_EQ(task.take_text(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "a warning\n") << "while the task goes on";
}

TEST(PluginWatch, SeesCallsAndTasks) {
  Recorder recorder;
  {
    PluginTask task("program 'step'", "be compiled");
    { const PluginCall inside; }
    EXPECT_EQ(task.take_text(), "a warning\n");
  }
  { const PluginTask start("plugin 'x'"); }
  EXPECT_THAT(recorder.told, ElementsAre("program 'step' is to be compiled", "enter", "leave",
                                         "end", "plugin 'x' is to start", "end"));
}

TEST(PluginWatch, SeesTheEndOfWhatItSawBegin) {
  Recorder recorder;
  {
    const PluginTask task("plugin 'x'");
    const PluginCall inside;
    set_plugin_watch(nullptr);
  }
  EXPECT_THAT(recorder.told, ElementsAre("plugin 'x' is to start", "enter", "leave", "end"));
}

}  // namespace
}  // namespace axle
