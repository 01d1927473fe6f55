#include <gmock/gmock.h>

#include "cli/arguments/options.h"
#include "cli/arguments/parse_test.h"

namespace axle::cli {
namespace {

template <class T>
struct Numbers {
  std::optional<T> value;
  std::function<void(CLI::App&)> add = [this](CLI::App& app) {
    add_number(app, "--n", value, "A number");
  };
  std::string error(const std::string& text) { return parse_error(add, {"--n", text}); }
};

TEST(NumberOptions, StoreTheirNumber) {
  Numbers<int64_t> n;
  parse(n.add, {});
  EXPECT_FALSE(n.value);
  parse(n.add, {"--n", "010"});
  EXPECT_EQ(n.value, 10) << "decimal, whatever zero it begins with";
  parse(n.add, {"--n=-3"});
  EXPECT_EQ(n.value, -3);
  Numbers<double> x;
  parse(x.add, {"--n", "1e-3"});
  EXPECT_EQ(x.value, 1e-3);
}

TEST(NumberOptions, RefuseOtherTypesOfNumbers) {
  Numbers<int64_t> n;
  EXPECT_EQ(n.error("x"), "--n: expected an integer, got 'x'");
  EXPECT_EQ(n.error("1.5"), "--n: expected an integer, got '1.5'");
  EXPECT_EQ(n.error("99999999999999999999"),
            "--n: expected an integer from -9223372036854775808 to 9223372036854775807, got "
            "'99999999999999999999'");
  EXPECT_FALSE(n.value);
  Numbers<double> x;
  EXPECT_EQ(x.error("nan"), "--n: expected a finite number, got 'nan'");
}

TEST(NumberOptions, RefuseANumberOutOfRange) {
  std::optional<int64_t> n;
  const auto add = [&](CLI::App& app) {
    add_number(app, "--n", n, "A number", Bounds{.min = 0, .max = 9});
  };
  EXPECT_EQ(parse_error(add, {"--n", "10"}), "--n: expected an integer from 0 to 9, got '10'");
  EXPECT_EQ(parse_error(add, {"--n=-1"}), "--n: expected an integer from 0 to 9, got '-1'");
  EXPECT_FALSE(n);
  parse(add, {"--n", "9"});
  EXPECT_EQ(n, 9);
}

TEST(NumberOptions, PassTheirNumberOn) {
  int64_t taken = 0;
  const auto add = [&](CLI::App& app) {
    add_number<int64_t>(app, "--n", std::function<void(int64_t)>([&](int64_t v) { taken += v; }),
                        "");
  };
  parse(add, {"--n", "4"});
  EXPECT_EQ(taken, 4);
}

}  // namespace
}  // namespace axle::cli
