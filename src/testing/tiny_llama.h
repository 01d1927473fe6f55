// A small Llama with random weights in the format of llama2.c, and its computation in plain loops
// without any part of Axle. Tests compare generation with it.
#pragma once

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "testing/llama2c_vocabulary.h"
#include "testing/trained_tokenizer.h"

namespace axle {

struct LlamaSizes {
  int dim = 32, hidden_dim = 48, num_layers = 2, num_heads = 4, num_kv_heads = 2, vocab_size = 512,
      max_seq_len = 64;
  bool shares_embedding = true;
};

class TinyLlama {
 public:
  explicit TinyLlama(const LlamaSizes& sizes = {}, unsigned seed = 1) : s_(sizes), random_(seed) {
    const int kv_dim = s_.num_kv_heads * head_dim();
    embedding_ = matrix(s_.vocab_size, s_.dim);
    for (int i = 0; i < s_.num_layers; ++i) {
      layers_.push_back({.attention_norm = scale(),
                         .q = matrix(s_.dim, s_.dim),
                         .k = matrix(kv_dim, s_.dim),
                         .v = matrix(kv_dim, s_.dim),
                         .o = matrix(s_.dim, s_.dim),
                         .norm = scale(),
                         .gate = matrix(s_.hidden_dim, s_.dim),
                         .down = matrix(s_.dim, s_.hidden_dim),
                         .up = matrix(s_.hidden_dim, s_.dim)});
    }
    last_norm_ = scale();
    classifier_ = s_.shares_embedding ? embedding_ : matrix(s_.vocab_size, s_.dim);
  }

  /// Returns the weight file, as llama2.c's trainer exports "version 0".
  std::string file() const {
    const int32_t header[] = {s_.dim,          s_.hidden_dim,
                              s_.num_layers,   s_.num_heads,
                              s_.num_kv_heads, s_.shares_embedding ? s_.vocab_size : -s_.vocab_size,
                              s_.max_seq_len};
    std::string out(reinterpret_cast<const char*>(header), sizeof(header));
    const auto add = [&](const Floats& floats) {
      out.append(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
    };
    add(embedding_);
    for (const auto weight : {&Layer::attention_norm, &Layer::q, &Layer::k, &Layer::v, &Layer::o,
                              &Layer::norm, &Layer::gate, &Layer::down, &Layer::up}) {
      for (const Layer& layer : layers_) add(layer.*weight);
    }
    add(last_norm_);
    // The table of positions, which no reader uses.
    add(Floats(static_cast<size_t>(s_.max_seq_len * head_dim())));
    if (!s_.shares_embedding) add(classifier_);
    return out;
  }

  /// Returns the logits after the last token, in f64.
  std::vector<double> logits(std::span<const int32_t> tokens) const {
    std::vector<Row> x;
    for (const int32_t token : tokens) {
      const float* const row = &embedding_[token * s_.dim];
      x.emplace_back(row, row + s_.dim);
    }
    for (const Layer& layer : layers_) {
      attend(layer, x);
      for (Row& row : x) feed_forward(layer, row);
    }
    return times(classifier_, normalized(x.back(), last_norm_));
  }

  struct Choice {
    int32_t token = 0;
    double margin = 0;  // to the second best token
  };
  Choice best(std::span<const int32_t> tokens) const {
    const std::vector<double> scores = logits(tokens);
    std::vector<int32_t> order(scores.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::partial_sort(order.begin(), order.begin() + 2, order.end(),
                      [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
    return {order[0], scores[order[0]] - scores[order[1]]};
  }
  /// Returns the next `count` tokens, taking the best one each time.
  std::vector<int32_t> greedy(std::vector<int32_t> tokens, int count) const {
    std::vector<int32_t> out;
    for (int i = 0; i < count; ++i) {
      out.push_back(best(tokens).token);
      tokens.push_back(out.back());
    }
    return out;
  }

 private:
  using Floats = std::vector<float>;
  using Row = std::vector<double>;
  struct Layer {
    Floats attention_norm, q, k, v, o, norm, gate, down, up;
  };

  int head_dim() const { return s_.dim / s_.num_heads; }
  // Uses the generator's bits, not a distribution, whose draws differ between libraries.
  float uniform() { return static_cast<float>(random_() >> 8) * 0x1p-23f - 1; }
  // Returns [outputs, inputs], with weights large enough that logits are far from equal.
  Floats matrix(int outputs, int inputs) {
    Floats out(static_cast<size_t>(outputs * inputs));
    for (float& w : out) w = 3 * uniform() / std::sqrt(static_cast<float>(inputs));
    return out;
  }
  Floats scale() {
    Floats out(static_cast<size_t>(s_.dim));
    for (float& w : out) w = 1 + 0.3f * uniform();
    return out;
  }

  static Row times(const Floats& w, const Row& x) {
    Row y(w.size() / x.size());
    for (size_t o = 0; o < y.size(); ++o) {
      for (size_t i = 0; i < x.size(); ++i) y[o] += static_cast<double>(w[o * x.size() + i]) * x[i];
    }
    return y;
  }
  static Row normalized(const Row& x, const Floats& scale) {
    double squares = 0;
    for (const double v : x) squares += v * v;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
    Row y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * factor * static_cast<double>(scale[i]);
    return y;
  }
  // Rotates each pair of neighbours by an angle that depends on the position and on the pair's
  // place in the head.
  void rotate(Row& x, size_t position) const {
    for (size_t i = 0; i < x.size(); i += 2) {
      const auto place = static_cast<double>(i % static_cast<size_t>(head_dim()));
      const double angle = static_cast<double>(position) * std::pow(1e4, -place / head_dim());
      const double a = x[i], b = x[i + 1];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
  void attend(const Layer& layer, std::vector<Row>& x) const {
    std::vector<Row> q, k, v;
    for (size_t t = 0; t < x.size(); ++t) {
      const Row in = normalized(x[t], layer.attention_norm);
      q.push_back(times(layer.q, in));
      k.push_back(times(layer.k, in));
      v.push_back(times(layer.v, in));
      rotate(q[t], t);
      rotate(k[t], t);
    }
    const auto size = static_cast<size_t>(head_dim());
    const auto num_heads = static_cast<size_t>(s_.num_heads),
               heads_per_kv = num_heads / static_cast<size_t>(s_.num_kv_heads);
    for (size_t t = 0; t < x.size(); ++t) {
      Row mixed(static_cast<size_t>(s_.dim));
      for (size_t h = 0; h < num_heads; ++h) {
        const size_t from = h / heads_per_kv * size;
        Row weights(t + 1);
        double sum = 0;
        for (size_t past = 0; past <= t; ++past) {
          double dot = 0;
          for (size_t i = 0; i < size; ++i) dot += q[t][h * size + i] * k[past][from + i];
          sum += weights[past] = std::exp(dot / std::sqrt(static_cast<double>(size)));
        }
        for (size_t past = 0; past <= t; ++past) {
          for (size_t i = 0; i < size; ++i)
            mixed[h * size + i] += weights[past] / sum * v[past][from + i];
        }
      }
      const Row out = times(layer.o, mixed);
      for (size_t i = 0; i < out.size(); ++i) x[t][i] += out[i];
    }
  }
  static void feed_forward(const Layer& layer, Row& x) {
    const Row in = normalized(x, layer.norm);
    Row hidden = times(layer.gate, in);
    const Row up = times(layer.up, in);
    for (size_t i = 0; i < hidden.size(); ++i) hidden[i] *= up[i] / (1 + std::exp(-hidden[i]));
    const Row out = times(layer.down, hidden);
    for (size_t i = 0; i < out.size(); ++i) x[i] += out[i];
  }

  LlamaSizes s_;
  std::mt19937 random_;
  Floats embedding_, last_norm_, classifier_;
  std::vector<Layer> layers_;
};

/// Returns the vocabulary of a byte-pair model in llama2.c's file format, as its tokenizer.py
/// writes it.
inline std::string llama2c_vocabulary(const std::string& model) {
  sentencepiece::SentencePieceProcessor processor;
  EXPECT_TRUE(processor.LoadFromSerializedProto(model).ok());
  int32_t longest = 0;
  ScoredPieces pieces;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    std::string text = processor.IdToPiece(id);
    if (id == processor.bos_id() || id == processor.eos_id()) text = "\n" + text + "\n";
    constexpr std::string_view kSpace = "\xe2\x96\x81";
    for (size_t at; (at = text.find(kSpace)) != text.npos;) text.replace(at, kSpace.size(), " ");
    longest = std::max(longest, static_cast<int32_t>(text.size()));
    pieces.emplace_back(text, processor.GetScore(id));
  }
  return std::string(reinterpret_cast<const char*>(&longest), sizeof(longest)) +
         pieces_of_file(pieces);
}

}  // namespace axle
