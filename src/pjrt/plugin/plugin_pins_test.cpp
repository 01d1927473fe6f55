#include "pjrt/plugin/plugin_pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/file.h"
#include "pjrt/plugin/plugin_policy.h"
#include "testing/checkout.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

const std::string kHash(64, 'a');
const std::string kList =
    "# What it is.\n# file: one/plugin.so\nmy-plugin==1.2 --hash=sha256:" + kHash +
    "  # 12345 bytes\n# file: two/tool\ntool==3 --hash=sha256:" + std::string(64, 'b') +
    "  # 7 bytes\n";

TEST(PluginPins, ReadsAList) {
  const PluginPins pins = parse_plugin_pins("chip", kList);
  ASSERT_EQ(pins.wheels.size(), 2u);
  EXPECT_EQ(pins.wheels[0], (PinnedWheel{"my-plugin", "1.2", kHash, 12345, "one/plugin.so"}));
  EXPECT_EQ(pins.wheels[1].file, "two/tool");
  EXPECT_EQ(pins.list, kList);
}

TEST(PluginPins, NamesTheLineThatItCannotRead) {
  for (const std::string bad : {"my-plugin==1.2\n", "# file: a\nmy-plugin==1.2 --hash=sha256:12\n",
                                "my-plugin==1 --hash=sha256:", "# file: a\nrm -rf\n"}) {
    EXPECT_THROW(parse_plugin_pins("chip", bad), DataError) << bad;
  }
  EXPECT_THAT(error_of<DataError>([] { parse_plugin_pins("chip", "\n# file: a\nnonsense\n"); }),
              ::testing::StartsWith("chip.txt:3: expected "));
}

TEST(PluginPins, TheProgramHoldsTheListsOfTheSourceTree) {
  const std::filesystem::path folder = source_file("tools/plugins");
  size_t num_lists = 0;
  for (const auto& file : list_directory(folder)) {
    const PluginPins* pins = plugin_pins(file.stem().string());
    ASSERT_NE(pins, nullptr) << file;
    EXPECT_EQ(pins->list, read_file(file));
    ++num_lists;
  }
  EXPECT_EQ(num_lists, detail::plugin_lists().size());
}

TEST(PluginPins, FirstWheelIsThePluginOfThePolicy) {
  for (const char* platform : {"cpu", "cuda", "tpu"}) {
    const PluginPins* pins = plugin_pins(platform);
    ASSERT_NE(pins, nullptr) << platform;
    const std::string file = std::filesystem::path(pins->wheels.at(0).file).filename();
    EXPECT_EQ(plugin_policy(platform).files.at(0), file);
    for (const PinnedWheel& wheel : pins->wheels) EXPECT_GT(wheel.size_bytes, 1 << 20);
  }
  EXPECT_EQ(plugin_pins("neuron"), nullptr);
}

TEST(PluginPins, MissingAndChangedWheelsAreOutdated) {
  const TempDir dir;
  const PluginPins pins = parse_plugin_pins("chip", kList);
  const auto outdated = [&] { return outdated_wheels(pins, dir.path()).size(); };
  EXPECT_EQ(outdated(), 2u);
  make_directories(dir.path() / "one");
  make_directories(dir.path() / "two");
  replace_file(dir.path() / "one/plugin.so", "x");
  replace_file(dir.path() / "two/tool", "x");
  EXPECT_EQ(outdated(), 2u) << "nothing says which version the files are of";
  replace_file(dir.path() / "chip.txt", kList);
  EXPECT_EQ(outdated(), 0u);
  std::string other = kList;
  other.replace(other.find("tool==3"), 7, "tool==2");
  replace_file(dir.path() / "chip.txt", other);
  ASSERT_EQ(outdated(), 1u);
  EXPECT_EQ(outdated_wheels(pins, dir.path())[0].name, "tool");
  replace_file(dir.path() / "chip.txt", "# a list of another time");
  EXPECT_EQ(outdated(), 2u);
  replace_file(dir.path() / "chip.txt", kList);
  remove_tree(dir.path() / "two");
  EXPECT_EQ(outdated(), 1u);
}

TEST(PluginPins, WholeListIsRecordedOnlyIfAllIsUnpacked) {
  const TempDir dir;
  const PluginPins pins = parse_plugin_pins("chip", kList);
  const PinnedWheel &plugin = pins.wheels[0], &tool = pins.wheels[1];
  make_directories(dir.path() / "one");
  make_directories(dir.path() / "two");
  replace_file(dir.path() / plugin.file, "of another version");
  replace_file(dir.path() / tool.file, "x");
  record_unpacked(pins, {tool}, dir.path());
  EXPECT_EQ(outdated_wheels(pins, dir.path()), std::vector{plugin});
  EXPECT_NE(read_file(dir / "chip.txt"), pins.list) << "`./dev plugin` compares the two";
  record_unpacked(pins, {plugin}, dir.path());
  EXPECT_EQ(outdated_wheels(pins, dir.path()), std::vector<PinnedWheel>());
  EXPECT_EQ(read_file(dir / "chip.txt"), pins.list);
}

}  // namespace
}  // namespace axle
