#include "interop/forms/change_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/parallel.h"
#include "config/print.h"
#include "config/walk.h"
#include "interop/forms/plain_model.h"
#include "ir/host_tensor.h"
#include "layers/attention/attention.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "nn/param.h"

namespace axle {
namespace {

std::vector<UnstackedLayer> places_of(const Child<Model>& model) {
  const auto* const lm = model.get_if<CausalLM>();
  AXLE_CHECK(lm && lm->decoder.get_if<Decoder>(), "a form of something else than a CausalLM");
  return unstacked_layers(lm->decoder.get_if<Decoder>()->layers, "decoder/layers");
}

bool has_part(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// A part of a parameter: of one of those that are stacked, seen as [before, whole, after], the
// elements [.., first, first + size, ..].
struct Piece {
  std::string path;
  int64_t index = 0, count = 1;
  int64_t before = 1, whole = 1, first = 0, size = 1, after = 1;
  /// The elements of each head that are rotated, by neighbours; 0: they keep their order.
  int64_t rotated = 0, head_dim = 1;

  int64_t num_elements() const { return before * size * after; }
  /// True for a parameter, or one of those that are stacked, as it is.
  bool is_plain() const { return size == whole && rotated == 0; }
};

class Form {
 public:
  Form(const Child<Model>& from, const Tree<HostTensor>& parameters, const Child<Model>& to)
      : parameters_(parameters), from_(places_of(from)), to_(places_of(to)) {
    AXLE_CHECK(from_.size() == to_.size(), "forms with different numbers of layers");
  }

  /// Returns what becomes the parameter, in order.
  std::vector<Piece> pieces(const std::string& path) const {
    std::vector<Piece> out;
    for (size_t i = 0; i < to_.size(); ++i) {
      if (!path.starts_with(to_[i].path + "/")) continue;
      out.resize(to_[i].count);
      out[to_[i].index] = piece_of_layer(from_[i], path.substr(to_[i].path.size() + 1));
    }
    if (out.empty()) out.push_back(whole(path, 1, 0));
    return out;
  }

 private:
  Piece whole(const std::string& path, int64_t count, int64_t index) const {
    const auto found = parameters_.find(path);
    AXLE_CHECK(found != parameters_.end(), "no parameter " + path);
    return {.path = path, .index = index, .count = count, .after = found->second.size() / count};
  }
  Piece piece_of_layer(const UnstackedLayer& place, const std::string& rest) const {
    Piece out = separate(place, rest);
    if (has_part(rest, "/qkv/") && !rest.ends_with("lora_down")) {
      for (const char* name : {"/q_proj/", "/k_proj/", "/query_norm/", "/key_norm/"})
        if (has_part(rest, name)) turn(out, place, rest);
    }
    return out;
  }
  // The piece of a projection that is a parameter of its own, or a part of one.
  Piece separate(const UnstackedLayer& place, const std::string& rest) const {
    const std::string direct = place.path + "/" + rest;
    if (parameters_.contains(direct)) return whole(direct, place.count, place.index);
    constexpr std::array<std::string_view, 3> kNames = {"q_proj/", "k_proj/", "v_proj/"};
    for (size_t part = 0; part < kNames.size(); ++part) {
      const size_t at = direct.find(kNames[part]);
      if (at == direct.npos) continue;
      const std::string base = direct.substr(0, at), name = direct.substr(at + kNames[part].size());
      const bool is_grouped = parameters_.contains(base + "proj/" + name);
      Piece out = whole(base + (is_grouped ? "proj/" : "") + name, place.count, place.index);
      const Shape& shape = parameters_.at(out.path).shape();
      if (is_grouped && name.ends_with("lora_down")) return out;  // of all heads
      if (is_grouped) {                                           // [.., heads, head dim]
        const GroupedHeads heads = heads_of(place);
        out.whole = shape[shape.size() - 2];
        out.first = std::array{int64_t{0}, heads.queries, heads.queries + heads.keys}[part];
        out.size = part == 0 ? heads.queries : heads.keys;
        out.before = out.after / out.whole / shape.back();
        out.after = shape.back();
      } else {  // [3, .., heads, head dim]
        out.whole = 3;
        out.first = static_cast<int64_t>(part);
        out.after /= 3;
      }
      return out;
    }
    AXLE_CHECK(false, "no parameter " + direct);
    return {};
  }

  struct GroupedHeads {
    int64_t queries, keys;
  };
  static GroupedHeads heads_of(const UnstackedLayer& place) {
    GroupedHeads out{};
    Child<Block> layer = place.layer;
    for_each_config<Attention>(layer, [&](auto&, const Attention::Config& attention) {
      out.queries = attention.num_heads;
      out.keys = attention.num_kv_heads ? int64_t{*attention.num_kv_heads} : out.queries;
    });
    return out;
  }
  void turn(Piece& piece, const UnstackedLayer& place, const std::string& rest) const {
    piece.head_dim = parameters_.at(piece.path).shape().back();
    Child<Block> layer = place.layer;
    for_each_config<NormedQKV>(layer, [&](auto&, const NormedQKV::Config& normed) {
      if (normed.over == NormOver::kHead) return;
      if (has_part(rest, "/query_norm/")) piece.head_dim /= heads_of(place).queries;
      if (has_part(rest, "/key_norm/")) piece.head_dim /= heads_of(place).keys;
    });
    for_each_config<RoPE>(layer, [&](auto&, const RoPE::Config& rope) {
      if (rope.pairs == PairLayout::kNeighbours)
        piece.rotated = std::llround(rope.fraction * static_cast<double>(piece.head_dim));
    });
  }

  const Tree<HostTensor>& parameters_;
  std::vector<UnstackedLayer> from_, to_;
};

// Copies heads whose first `rotated` elements are reordered into two halves.
template <class T>
void copy_heads(const T* from, int64_t count, const Piece& piece, T* to) {
  const int64_t pairs = piece.rotated / 2;
  for (int64_t head = 0; head < count; head += piece.head_dim) {
    for (int64_t i = 0; i < pairs; ++i) {
      to[head + i] = from[head + 2 * i];
      to[head + pairs + i] = from[head + 2 * i + 1];
    }
    std::copy(from + head + piece.rotated, from + head + piece.head_dim, to + head + piece.rotated);
  }
}

template <class T>
void copy_piece(const HostTensor& source, const Piece& piece, HostTensor& target, int64_t begin) {
  const T* const from = source.elements<T>().data() + piece.index * (source.size() / piece.count);
  T* const to = target.elements<T>().data() + begin;
  const int64_t run = piece.size * piece.after;
  parallel_for(piece.before, 1 + (1 << 16) / (run + 1), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const T* const part = from + (i * piece.whole + piece.first) * piece.after;
      if (piece.rotated > 0)
        copy_heads(part, run, piece, to + i * run);
      else
        std::copy(part, part + run, to + i * run);
    }
  });
}

void copy_piece(const HostTensor& source, const Piece& piece, HostTensor& target, int64_t begin) {
  switch (size_bytes(target.dtype())) {
    case 1:
      return copy_piece<uint8_t>(source, piece, target, begin);
    case 2:
      return copy_piece<uint16_t>(source, piece, target, begin);
    case 4:
      return copy_piece<uint32_t>(source, piece, target, begin);
    default:
      return copy_piece<uint64_t>(source, piece, target, begin);
  }
}

// True if the pieces are a whole parameter in its order.
bool is_whole(const std::vector<Piece>& pieces) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.path != pieces[0].path || piece.index != static_cast<int64_t>(i) ||
        piece.count != std::ssize(pieces) || !piece.is_plain())
      return false;
  }
  return true;
}

}  // namespace

Tree<HostTensor> in_form(const Child<Model>& from, Tree<HostTensor> parameters,
                         const Child<Model>& to, const Tree<ParamSpec>& specs) {
  Tree<std::vector<Piece>> plan;
  std::map<std::string, int64_t> uses;
  const Form form(from, parameters, to);
  for (const auto& [path, spec] : specs) {
    plan.emplace(path, form.pieces(path));
    for (const Piece& piece : plan.at(path)) ++uses[piece.path];
  }
  const Tree<ParamSpec> state =
      subtree(from.build({}, Scope{.path = "model"})->state_specs(), "model");
  for (const auto& [path, value] : parameters)
    AXLE_CHECK(uses.contains(path) || state.contains(path), "nothing takes " + path);
  Tree<HostTensor> out;
  for (const auto& [path, pieces] : plan) {
    HostTensor& first = parameters.at(pieces[0].path);
    if (is_whole(pieces) && uses.at(pieces[0].path) == std::ssize(pieces)) {
      const std::string source = pieces[0].path;
      const bool is_same = first.shape() == specs.at(path).shape;
      out.emplace(path, is_same ? std::move(first) : first.reshaped(specs.at(path).shape));
      parameters.erase(source);
      continue;
    }
    const auto has_dtype = [&](const Piece& piece) {
      return parameters.at(piece.path).dtype() == first.dtype();
    };
    const DType dtype = std::ranges::all_of(pieces, has_dtype) ? first.dtype() : DType::kF32;
    HostTensor value(Type{dtype, specs.at(path).shape});
    int64_t begin = 0;
    for (const Piece& piece : pieces) {
      const HostTensor& source = parameters.at(piece.path);
      if (source.dtype() == dtype)
        copy_piece(source, piece, value, begin);
      else
        copy_piece(checked_astype(source, dtype, piece.path), piece, value, begin);
      begin += piece.num_elements();
      if (--uses.at(piece.path) == 0) parameters.erase(piece.path);
    }
    AXLE_CHECK(begin == value.size(), "pieces of another size make " + path);
    out.emplace(path, std::move(value));
  }
  return out;
}

std::set<std::string> paths_in_form(const Child<Model>& from, const Tree<HostTensor>& parameters,
                                    const Child<Model>& to, const Tree<ParamSpec>& specs,
                                    const std::set<std::string>& paths) {
  std::set<std::string> out;
  if (paths.empty()) return out;
  const Form form(from, parameters, to);
  for (const auto& [path, spec] : specs) {
    const auto is_named = [&](const Piece& piece) { return paths.contains(piece.path); };
    if (std::ranges::any_of(form.pieces(path), is_named)) out.insert(path);
  }
  return out;
}

namespace {

// The layer that all of these are: those from the first one to before the end, by steps.
const Child<Block>& same_layer(const std::vector<Child<Block>>& layers, size_t first, size_t end,
                               size_t step, const std::string& where) {
  for (size_t i = first + step; i < end; i += step) {
    const auto found = changes(layers[first], layers[i], fmt::format("layer {}", i));
    if (found.empty()) continue;
    throw ConfigError(
        fmt::format("{}: expected the adapters of layer {} in layer {}, got another: {}: {} and {}",
                    where, first, i, found.front().path, found.front().before.value_or("none"),
                    found.front().after.value_or("none")));
  }
  return layers.at(first);
}

// Puts the layers from `first` on into the stack; returns how many it has.
size_t put_layers(Child<Block>& stack, const std::vector<Child<Block>>& layers, size_t first,
                  const std::string& where) {
  if (auto* const repeat = stack.get_if<Repeat>()) {
    const auto count = static_cast<size_t>(int64_t{*repeat->num_layers});
    repeat->layer = same_layer(layers, first, first + count, 1, where);
    return count;
  }
  if (auto* const stacked = stack.get_if<Stacked>()) {
    size_t count = 0;
    for (Child<Block>& part : stacked->layers)
      count += put_layers(part, layers, first + count, where);
    return count;
  }
  auto* const pattern = stack.get_if<Pattern>();
  AXLE_CHECK(pattern, "a family with another stack of layers");
  const size_t size = pattern->pattern.size(),
               count = static_cast<size_t>(int64_t{*pattern->num_layers});
  for (size_t i = 0; i < size; ++i)
    pattern->pattern[i] = same_layer(layers, first + i, first + count, size, where);
  return count;
}

}  // namespace

Child<Model> with_adapters(Child<Model> form, const PlainModel& model, const std::string& where) {
  Decoder::Config& decoder = *form.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.lm_head = model.decoder.lm_head;
  put_layers(decoder.layers, model.layers, 0, where);
  return form;
}

}  // namespace axle
