// A small tree with every kind of field, for the tests of config/.
#pragma once

#include <array>

#include "base/text/text.h"
#include "config/missing.h"
#include "config/print.h"
#include "config/set.h"

namespace axle::example {

enum class Precision { kLow, kHigh };
constexpr auto texts_of(Precision) {
  return std::to_array<EnumText<Precision>>(
      {{Precision::kLow, "low", "coarse"}, {Precision::kHigh, "high"}});
}

/// A value type with text of its own, like a partition spec.
struct Axes {
  std::vector<std::string> names = {};
};
std::string to_text(const Axes& axes);
void from_text(std::string_view text, Axes& axes);

struct SlotOptions {
  std::optional<Precision> dtype = {};
  Axes partition = {};
  AXLE_CONFIG(SlotOptions, dtype, partition)
};

class Module {
 public:
  using Options = SlotOptions;
  explicit Module(const Scope& scope) : path(scope.path) {}
  virtual ~Module() = default;
  std::string path;
};

class Norm : public Module {
 public:
  using Role = Norm;
  static constexpr std::array<std::string_view, 1> kInputs = {"x"};
  struct Dims {
    int64_t input_dim;
    AXLE_CONFIG(Dims, input_dim)
  };
  using Module::Module;
  virtual double apply(double x) const = 0;
};

class Scale : public Norm {
 public:
  static constexpr std::string_view kDoc = "x -> factor * input_dim * x";
  struct Config {
    double factor = 2;
    float eps = 1e-6f;
    AXLE_CONFIG(Scale, factor, eps)
  };
  Scale(const Config& cfg, const Dims& dims, const Scope& scope);
  double apply(double x) const override { return factor_ * x; }

 private:
  double factor_;
};

class Shift : public Norm {
 public:
  struct Config {
    float eps = 1e-5f;
    int32_t factor = 3;  // same name as in Scale, but another type
    std::optional<int64_t> by = {};
    AXLE_CONFIG(Shift, eps, factor, by)
  };
  Shift(const Config& cfg, const Dims&, const Scope& scope)
      : Norm(scope), by_(cfg.by.value_or(1)) {}
  double apply(double x) const override { return x + double(by_); }

 private:
  int64_t by_;
};

/// Inherits from a class that is itself registered.
class LoudScale final : public Scale {
 public:
  struct Config {
    double factor = 2;
    AXLE_CONFIG(LoudScale, factor)
  };
  LoudScale(const Config& cfg, const Dims& dims, const Scope& scope)
      : Scale({.factor = cfg.factor}, dims, scope) {}
};

class Twice final : public Norm {
 public:
  struct Config {
    Child<Norm> inner = {};
    AXLE_CONFIG(Twice, inner)
  };
  Twice(const Config& cfg, const Dims& dims, const Scope& scope)
      : Norm(scope), inner_(cfg.inner.build(dims, {.path = scope.path + "/inner"})) {}
  double apply(double x) const override { return inner_->apply(inner_->apply(x)); }

 private:
  std::unique_ptr<Norm> inner_;
};

/// Has numbers with ranges, one of them optional.
class Bounded final : public Norm {
 public:
  struct Config {
    FractionBelowOne rate = 0;
    std::optional<Positive<int64_t>> every = {};
    AXLE_CONFIG(Bounded, rate, every)
  };
  Bounded(const Config& cfg, const Dims&, const Scope& scope) : Norm(scope), cfg_(cfg) {}
  double apply(double x) const override { return x * cfg_.rate * double(cfg_.every.value_or(1)); }

 private:
  Config cfg_;
};

/// A role without options.
class Source {
 public:
  using Role = Source;
  struct Dims {};
  virtual ~Source() = default;
};
class Lines final : public Source {
 public:
  struct Config {
    std::string path = {};
    AXLE_CONFIG(Lines, path)
  };
  Lines(const Config&, const Dims&, const Scope&) {}
};

struct Scaled {
  double scale = 4;
  int64_t multiple_of = 1;
  int64_t operator()(int64_t d) const {
    return int64_t(scale * double(d)) / multiple_of * multiple_of;
  }
  AXLE_CONFIG(Scaled, scale, multiple_of)
};
struct Fixed {
  int64_t dim = 0;
  static constexpr std::string_view kFromNumber = "dim";
  int64_t operator()(int64_t) const { return dim; }
  AXLE_CONFIG(Fixed, dim)
};
int64_t twice(int64_t d);
int64_t thrice(int64_t d);

struct Axis {
  std::string name = {};
  int64_t size = -1;
  static constexpr std::string_view kFromNumber = "size";
  AXLE_CONFIG(Axis, name, size)
};

class Model {
 public:
  using Role = Model;
  struct Dims {};
  virtual ~Model() = default;
};
class Tower final : public Model {
 public:
  struct Config {
    Required<int64_t> model_dim = REQUIRED;
    Fn<int64_t(int64_t)> hidden_dim = Scaled{.scale = 8.0 / 3};
    std::optional<Fn<int64_t(int64_t)>> extra_dim = {};
    Child<Norm> norm = Scale::Config{};
    std::optional<Child<Norm>> output_norm = {};
    Required<Child<Source>> source = REQUIRED;
    std::vector<Child<Norm>> layers = {};
    NamedMap<Child<Norm>> heads = {};
    std::vector<Axis> mesh = {};
    std::optional<Axis> spare = {};
    std::vector<int64_t> sizes = {1, 2};
    std::vector<std::string> words = {};
    std::map<std::string, double> weights = {};
    std::optional<std::string> label = {};
    Precision precision = Precision::kHigh;
    Axes axes = {};
    bool tied = false;
    uint8_t small = 7;
    AXLE_CONFIG(Tower, model_dim, hidden_dim, extra_dim, norm, output_norm, source, layers, heads,
                mesh, spare, sizes, words, weights, label, precision, axes, tied, small)
  };
  Tower(const Config&, const Dims&, const Scope&) {}
};

/// Returns a tree with a value in every field.
Tower::Config full_tower();

}  // namespace axle::example
