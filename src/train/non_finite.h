// What a run does about numbers that are not finite.
#pragma once

#include <string>
#include <string_view>

namespace axle {

/// What happens after a step whose loss, gradient or new state is not finite; the program itself
/// has kept the old state.
///
///   stop   the run ends. The same command does not go on: that is for on_non_finite=skip or
///          --force to say.
///   skip   the run goes on with the next batch.
enum class NonFinite { kStop, kSkip };
std::string to_text(NonFinite v);
void from_text(std::string_view text, NonFinite& v);

}  // namespace axle
