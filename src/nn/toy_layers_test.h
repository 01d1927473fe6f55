// Layers for tests of the features that every layer has.
#pragma once

#include "config/register.h"
#include "nn/functional.h"
#include "nn/layer.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "testing/test_layer.h"

namespace axle {

/// x[D] -> y[D].
class Toy : public LayerRole<Toy, Tensor(const Tensor& x)> {
 public:
  struct Dims {
    int64_t dim;
    AXLE_CONFIG(Dims, dim)
  };
  static constexpr InputNames kInputs = {"x"};
  static constexpr bool kAnyResult = true;
  using LayerRole::LayerRole;
};

/// x -> x * w. Also adds a summary, an aux loss and an output.
class Scaling final : public Toy {
 public:
  struct Config {
    AXLE_CONFIG(Scaling)
  };
  Scaling(const Config&, const Dims& dims, const Scope& scope)
      : Toy(scope),
        w_(param("w", {.shape = {dims.dim}, .init = Ones{}})),
        weight_(param("weight", {.shape = {dims.dim, 2}})) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x) override {
    add_summary("sum", sum(x));
    add_aux_loss("loss", sum(w_()));
    add_output("twice", x + x);
    return x * w_();
  }

 private:
  Param w_, weight_;
};

/// Calls the first child, then the second one twice, then the third one if there is one.
class Chain final : public Toy {
 public:
  struct Config {
    Child<Toy> first = Scaling::Config{};
    Child<Toy> second = Scaling::Config{};
    std::optional<Child<Toy>> third = {};
    AXLE_CONFIG(Chain, first, second, third)
  };
  Chain(const Config& cfg, const Dims& dims, const Scope& scope)
      : Toy(scope),
        first_(child("first", cfg.first, dims)),
        second_(child("second", cfg.second, dims)),
        third_(child("third", cfg.third, dims)) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = first_(x), z = second_(second_(y));
    return third_ ? (*third_)(z) : z;
  }

 private:
  Handle<Toy> first_, second_;
  std::optional<Handle<Toy>> third_;
};

/// While decoding, adds x to a running sum in its state and returns the sum.
class Counting final : public Toy {
 public:
  struct Config {
    AXLE_CONFIG(Counting)
  };
  Counting(const Config&, const Dims& dims, const Scope& scope) : Toy(scope), dim_(dims.dim) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override {
    return {{join_path(path(), "seen"), {.type = {dims.dtype, {dim_}}}}};
  }

 protected:
  Tensor forward(const Tensor& x) override {
    if (!decoding()) return x;
    set_state("seen", state("seen") + x);
    return state("seen");
  }

 private:
  int64_t dim_;
};

/// Returns noise from its own key; does not override can_decode.
class Noise final : public Toy {
 public:
  struct Config {
    AXLE_CONFIG(Noise)
  };
  Noise(const Config&, const Dims&, const Scope& scope) : Toy(scope) {}

 protected:
  Tensor forward(const Tensor& x) override {
    return random::normal(Invocation::current().key(), x.shape());
  }
};

}  // namespace axle
