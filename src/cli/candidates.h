// What may follow the words of a command line: values of flags that depend on the recipe.
#pragma once

#include <string>
#include <vector>

namespace axle::cli {

/// Returns the candidates for the last of `words`, which follow the name of the program; those that
/// begin with it, and none for other flags than these:
///   --set     paths of the recipe with the flags before, one level at a time ("model.", "seed=");
///             after "=", the classes that fit the field, its choices, or the field's value; of
///             `eval`, what an evaluation reads of the config of the run behind --from
///   --modify  names of modifiers
///   --on      targets
/// A candidate that ends in "." or "=" is only the beginning of a value. Never throws: a recipe or
/// a flag that cannot be read is left out.
std::vector<std::string> completion_candidates(const std::vector<std::string>& words);

}  // namespace axle::cli
