// Any number in an integer field of a recipe either works, or is refused in one line that names the
// place. The parameters, programs and texts are then made, or refused at once, before anything of
// that size exists.
#include <gmock/gmock.h>

#include <set>

#include "base/error.h"
#include "config/set.h"
#include "config/walk.h"
#include "recipes/recipe.h"
#include "recipes/resolve/use_data.h"
#include "train/config/run_modules.h"

namespace axle {
namespace {

bool is_integer_field(const Slot& slot) {
  const TypeOps* ops = slot.ops;
  while (ops->kind == FieldKind::kOptional || ops->kind == FieldKind::kRequired) ops = ops->element;
  return ops->kind == FieldKind::kLeaf && ops->leaf == LeafKind::kInteger;
}

std::set<std::string> integer_fields(const Trainer::Config& config) {
  std::set<std::string> out;
  walk(config, [&](const std::string& path, const Slot& slot) {
    if (is_integer_field(slot)) out.insert(path);
  });
  return out;
}

// Does what a run does before it has devices: builds, counts, traces and lowers.
void prepare(const Trainer::Config& config) {
  const RunModules parts(config);
  int64_t bytes = 0;
  for (const ProgramValue& leaf : train_state(*parts.model, *parts.learner))
    bytes += static_cast<int64_t>(leaf.type.num_bytes());
  EXPECT_GT(bytes, 0);
  const auto input = parts.make_input();
  const ProgramSpec programs = parts.program_spec({}, input->element_spec());
  init_program(programs);
  step_program(programs);
  eval_program(programs);
}

class RecipeSizes : public ::testing::TestWithParam<const char*> {};

TEST_P(RecipeSizes, FieldsOfAnySizeWorkOrAreRefused) {
  std::set<std::string> tried;
  int refused = 0;
  for (const std::string& name : recipe_names()) {
    Trainer::Config plain = recipe(name);
    UseData{kSyntheticData}.apply_to(plain);
    for (const std::string& path : integer_fields(plain)) {
      if (!tried.insert(path).second) continue;
      SCOPED_TRACE(name + ": " + path + " = " + GetParam());
      Trainer::Config config = plain;
      try {
        set(config, path, GetParam());
        prepare(config);
      } catch (const Error& error) {
        ++refused;
        EXPECT_TRUE(error.code() == ExitCode::kUser || error.code() == ExitCode::kDoesNotFit)
            << error.what();
        // The message names the last part of the field's path, or the tensor that the field makes
        // too large.
        const std::string field = path.substr(path.rfind('.') + 1);
        EXPECT_THAT(error.what(),
                    ::testing::AnyOf(::testing::HasSubstr(field),
                                     ::testing::HasSubstr("bytes, more than any machine")));
      }
    }
  }
  EXPECT_GT(tried.size(), 20u);
  EXPECT_GT(refused, 3);
}

INSTANTIATE_TEST_SUITE_P(Numbers, RecipeSizes,
                         ::testing::Values("1000000000", "9223372036854775807", "-1", "0"),
                         [](const auto& value) {
                           std::string name = value.param;
                           std::ranges::replace(name, '-', 'm');
                           return name;
                         });

}  // namespace
}  // namespace axle
