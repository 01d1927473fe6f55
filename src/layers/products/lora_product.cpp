#include "layers/products/lora_product.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ir/host_tensor.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "transform/trace.h"

namespace axle {
namespace {

constexpr char kRank = 'R';  // specs of layers use small letters

// Returns the sizes and the mesh axes of these dims of the weight. The rank is replicated.
ParamSpec spec_of(const std::string& letters, const ProductLetters& all, const Product::Dims& dims,
                  int64_t rank) {
  ParamSpec out;
  for (const char c : letters) {
    const size_t at = all.weight.find(c);
    const bool is_rank = at == std::string::npos;
    out.shape.push_back(is_rank ? rank : int64_t{dims.weight_dims.at(at)});
    const bool is_sharded = !is_rank && at < dims.weight_axes.dims.size();
    out.mesh_axes.push_back(is_sharded ? dims.weight_axes.dims[at] : kReplicated);
  }
  return out;
}

// Returns the product of the sizes of these dims of the weight.
int64_t size_of(const std::string& letters, const ProductLetters& all, const Product::Dims& dims) {
  int64_t out = 1;
  for (const char c : letters) out *= dims.weight_dims.at(all.weight.find(c));
  return out;
}

ParamSpec down_spec(const std::string& letters, const ProductLetters& all,
                    const Product::Dims& dims, const LoraProduct::Config& cfg) {
  ParamSpec out = spec_of(letters, all, dims, cfg.rank);
  out.init = cfg.init;
  out.fan = {.in = from_the_end(letters, all.contracted),
             .out = {-1},
             .batch = from_the_end(letters, all.stacked + all.batch)};
  return out;
}

ParamSpec up_spec(const std::string& letters, const ProductLetters& all, const Product::Dims& dims,
                  int64_t rank) {
  ParamSpec out = spec_of(letters, all, dims, rank);
  // Rules of @init by name change parameters that start as Zeros{}. An adapter must start without
  // effect.
  out.init = Constant{.value = 0};
  return out;
}

}  // namespace

LoraProduct::LoraProduct(const Config& cfg, const Dims& dims, const Scope& scope)
    : Product(scope),
      letters_(letters_of(dims)),
      down_letters_(letters_.stacked + letters_.batch + letters_.contracted + kRank),
      up_letters_(letters_.stacked + letters_.batch + kRank + letters_.out),
      weight_dims_(dims.weight_dims.begin(), dims.weight_dims.end()),
      weight_path_(dims.weight),
      scale_(cfg.alpha / static_cast<double>(cfg.rank)),
      down_(param("lora_down", down_spec(down_letters_, letters_, dims, cfg))),
      up_(param("lora_up", up_spec(up_letters_, letters_, dims, cfg.rank))),
      dropout_(child("dropout", cfg.dropout, {})),
      inner_(child("inner", cfg.inner, dims)) {
  if (weight_path_.empty() || dims.use != WeightUse::kProductOnly) {
    fail("inner",
         "expected a product with a weight of its own, got one whose weight has other uses, so "
         "that no adapter can be merged into it; leave this product out");
  }
  const int64_t side =
      std::max(size_of(letters_.contracted, letters_, dims), size_of(letters_.out, letters_, dims));
  if (cfg.rank > side) {
    fail("rank", fmt::format("expected at most {}, the larger side of the weight, got {}", side,
                             int64_t{cfg.rank}));
  }
  hidden_ = letters_.stacked;
  for (const char c : letters_.x) {
    if (letters_.contracted.find(c) == std::string::npos) hidden_ += c;
  }
  hidden_ += kRank;
}

Tensor LoraProduct::forward(const Tensor& x, const Tensor& weight) {
  const Tensor y = inner_(x, weight);
  const Tensor dropped = dropout_(x);
  const Tensor up = repeated_as_called(up_(), up_letters_, weight, letters_.weight, weight_dims_);
  const Tensor hidden =
      einsum(fmt::format("{},{}->{}", letters_.x, down_letters_, hidden_), dropped, down_());
  const Tensor adapted =
      einsum(fmt::format("{},{}->{}", hidden_, up_letters_, letters_.y), hidden, up);
  return y + adapted * scale_;
}

void LoraProduct::merge_into(Tree<HostTensor>& parameters) const {
  const std::string spec =
      fmt::format("...{},...{}->...{}", down_letters_, up_letters_, letters_.weight);
  const auto merged = [&](const Values& v) {
    const DType wide = wide_dtype(v[0].dtype());
    const Tensor added =
        einsum(spec, astype(v[1], wide), astype(v[2], wide), {.precision = Precision::kHighest});
    return Values{astype(astype(v[0], wide) + added * scale_, v[0].dtype())};
  };
  HostTensor& weight = parameters.at(weight_path_);
  weight = eval(merged, {weight, parameters.at(down_.path()), parameters.at(up_.path())})[0];
  if (!all_finite(weight)) {
    throw DataError(
        fmt::format("{}: expected a sum with its adapter that {} holds, got infinity; take the "
                    "adapters alone (axle export --format peft)",
                    weight_path_, name_of(weight.dtype())));
  }
  for (const std::string& path : own_paths()) parameters.erase(path);
}

std::vector<std::string> adapter_paths(const Layer& model) {
  std::vector<std::string> out;
  model.visit([&](const Layer& layer) {
    if (const auto* const lora = dynamic_cast<const LoraProduct*>(&layer))
      std::ranges::copy(lora->own_paths(), std::back_inserter(out));
  });
  return out;
}

Tree<HostTensor> merged_adapters(const Layer& model, Tree<HostTensor> parameters) {
  model.visit([&](const Layer& layer) {
    if (const auto* const lora = dynamic_cast<const LoraProduct*>(&layer))
      lora->merge_into(parameters);
  });
  return parameters;
}

AXLE_REGISTER(LoraProduct)

}  // namespace axle
