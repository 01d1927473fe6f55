// Another form of the same model: with adapters merged, with layers stacked otherwise.
#pragma once

#include <set>
#include <string>

#include "base/tree.h"
#include "interop/forms/plain_model.h"
#include "ir/host_tensor.h"
#include "layers/models/model.h"

namespace axle {

/// Returns the parameters of `from` in the form of `to`: stacked or each layer on its own, with one
/// projection of queries, keys and values or three, rotated by neighbours or by halves; with the
/// same adapters, if both have some. Paths are
/// below the model ("decoder/emb/weight"). Dtypes stay; where parameters become one of several
/// dtypes, it is f32. `to` must be a form of the same model (differences() of plain_model.h), with
/// separate projections, rotated by halves. `specs` describe what `to` stores
/// (family.h); `parameters` may hold more state of layers than they name.
///
/// Takes no more memory than the parameters and the largest tensor of both forms.
Tree<HostTensor> in_form(const Child<Model>& from, Tree<HostTensor> parameters,
                         const Child<Model>& to, const Tree<ParamSpec>& specs);

/// Returns the parameters of `to` that hold numbers of these of `from`; otherwise as in_form().
std::set<std::string> paths_in_form(const Child<Model>& from, const Tree<HostTensor>& parameters,
                                    const Child<Model>& to, const Tree<ParamSpec>& specs,
                                    const std::set<std::string>& paths);

/// Returns `form`, which a family builds, with the adapters (LoraProduct) of `model`, whose layers
/// match the layers of `form`. Throws ConfigError "<where>: ..." if layers of one stack have
/// different ones.
Child<Model> with_adapters(Child<Model> form, const PlainModel& model, const std::string& where);

}  // namespace axle
