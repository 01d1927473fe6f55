// Makes a program that fails smaller, as long as it still fails.
#pragma once

#include <functional>

#include "testing/fuzz/program.h"

namespace axle::testing::fuzz {

using Fails = std::function<bool(const Program&)>;

/// Replaces the uses of values [first, first + count) by uses of `other`, and closes the gap in the
/// numbers of later values.
inline void remove_values(Program& program, size_t first, size_t count, size_t other) {
  const auto renumber = [&](std::vector<size_t>& values) {
    for (size_t& v : values) {
      if (v >= first + count)
        v -= count;
      else if (v >= first)
        v = other;
    }
  };
  for (Step& step : program.steps) {
    renumber(step.operands);
    renumber(step.captures);
  }
  renumber(program.results);
}

class Shrinker {
 public:
  Shrinker(Program program, Fails fails) : best_(std::move(program)), fails_(std::move(fails)) {}

  /// Tries each change, again and again, until none helps or `max_attempts` are made.
  Program run(int max_attempts = 3000) {
    left_ = max_attempts;
    for (bool changed = true; changed && left_ > 0;) {
      changed = false;
      // Changes of the program at `path`: the indices of steps and bodies that lead to it.
      std::vector<Path> paths;
      collect(best_, {}, paths);
      for (const Path& path : paths) {
        if (Program* const here = find(best_, path); here) changed |= shrink_at(path);
      }
      changed |= drop_parameters();
      changed |= simplify_types();
    }
    return best_;
  }

 private:
  using Path = std::vector<std::pair<size_t, size_t>>;  // step, body

  static void collect(const Program& program, const Path& path, std::vector<Path>& out) {
    out.push_back(path);
    for (size_t s = 0; s < program.steps.size(); ++s) {
      for (size_t b = 0; b < program.steps[s].bodies.size(); ++b) {
        Path inner = path;
        inner.emplace_back(s, b);
        collect(program.steps[s].bodies[b], inner, out);
      }
    }
  }
  /// Returns the program at a path, or nullptr if a change removed it.
  static Program* find(Program& program, const Path& path) {
    Program* at = &program;
    for (const auto& [s, b] : path) {
      if (s >= at->steps.size() || b >= at->steps[s].bodies.size()) return nullptr;
      at = &at->steps[s].bodies[b];
    }
    return at;
  }
  /// The number of values that the program at a path has before its first step.
  size_t num_given(const Path& path) {
    if (path.empty()) return best_.parameters.size();
    const Path outer(path.begin(), path.end() - 1);
    const Step& step = find(best_, outer)->steps[path.back().first];
    return step.operands.size() + step.captures.size();
  }

  /// Keeps the change if the program still fails.
  bool attempt(const std::function<void(Program&)>& change) {
    if (left_ <= 0) return false;
    --left_;
    Program changed = best_;
    change(changed);
    if (!fails_(changed)) return false;
    best_ = std::move(changed);
    return true;
  }
  bool attempt_at(const Path& path, const std::function<void(Program&)>& change) {
    return attempt([&](Program& program) { change(*find(program, path)); });
  }

  bool shrink_at(const Path& path) {
    bool changed = false;
    const auto here = [&]() -> const Program& { return *find(best_, path); };
    for (size_t s = here().steps.size(); s-- > 0;) {
      if (s >= here().steps.size()) continue;
      if (remove_step(path, s) || inline_step(path, s)) {
        changed = true;
        continue;
      }
      changed |= shrink_step(path, s);
    }
    // The number of results of a body is that of its step's results, so only the whole program
    // may drop some of them.
    for (size_t r = here().results.size(); path.empty() && r-- > 0 && here().results.size() > 1;) {
      changed |= attempt_at(path, [&](Program& p) {
        p.results.erase(p.results.begin() + static_cast<ptrdiff_t>(r));
      });
    }
    for (size_t r = 0; r < here().results.size(); ++r) {
      if (here().results[r] < num_given(path)) continue;
      changed |= attempt_at(path, [&](Program& p) { p.results[r] = 0; });
    }
    return changed;
  }

  size_t first_value(const Path& path, size_t s) {
    size_t first = num_given(path);
    const Program& program = *find(best_, path);
    for (size_t i = 0; i < s; ++i) first += program.steps[i].num_results();
    return first;
  }
  bool remove_step(const Path& path, size_t s) {
    const size_t first = first_value(path, s);
    return attempt_at(path, [&](Program& p) {
      const Step step = p.steps[s];
      p.steps.erase(p.steps.begin() + static_cast<ptrdiff_t>(s));
      remove_values(p, first, step.num_results(), step.operands.empty() ? 0 : step.operands[0]);
    });
  }
  /// Replaces a step by the steps of its first body.
  bool inline_step(const Path& path, size_t s) {
    if (find(best_, path)->steps[s].bodies.empty()) return false;
    const size_t first = first_value(path, s);
    return attempt_at(path, [&](Program& p) {
      const Step step = p.steps[s];
      const Program& body = step.bodies[0];
      std::vector<size_t> given = step.operands;
      given.insert(given.end(), step.captures.begin(), step.captures.end());
      size_t num_made = 0;
      for (const Step& inner : body.steps) num_made += inner.num_results();
      const auto outside = [&](size_t v) {
        v %= given.size() + num_made;
        return v < given.size() ? given[v] : first + v - given.size();
      };
      // Later values are counted from the end of the inlined steps.
      const size_t removed = step.num_results();
      const auto later = [&](std::vector<size_t>& values) {
        for (size_t& v : values) {
          if (v >= first + removed)
            v = v - removed + num_made;
          else if (v >= first)
            v = outside(body.results[v - first]);
        }
      };
      for (size_t i = s + 1; i < p.steps.size(); ++i) {
        later(p.steps[i].operands);
        later(p.steps[i].captures);
      }
      later(p.results);
      std::vector<Step> steps = body.steps;
      for (Step& inner : steps) {
        for (size_t& v : inner.operands) v = outside(v);
        for (size_t& v : inner.captures) v = outside(v);
      }
      p.steps.erase(p.steps.begin() + static_cast<ptrdiff_t>(s));
      p.steps.insert(p.steps.begin() + static_cast<ptrdiff_t>(s), steps.begin(), steps.end());
    });
  }
  bool shrink_step(const Path& path, size_t s) {
    bool changed = false;
    const auto step = [&]() -> const Step& { return find(best_, path)->steps[s]; };
    for (size_t i = 0; i < step().numbers.size(); ++i) {
      for (const int64_t smaller : {int64_t{0}, int64_t{1}, step().numbers[i] / 2}) {
        if (smaller >= step().numbers[i]) continue;
        changed |= attempt_at(path, [&](Program& p) { p.steps[s].numbers[i] = smaller; });
      }
    }
    if (step().bodies.empty()) return changed;
    for (size_t b = step().bodies.size(); b-- > 1;) {
      changed |= attempt_at(path, [&](Program& p) {
        auto& bodies = p.steps[s].bodies;
        bodies.erase(bodies.begin() + static_cast<ptrdiff_t>(b));
      });
    }
    // Captures, then operands, from the last one on.
    for (size_t c = step().captures.size(); c-- > 0;) {
      changed |= attempt_at(path, [&](Program& p) { drop_given(p.steps[s], false, c); });
    }
    for (size_t o = step().operands.size(); o-- > 1;) {
      changed |= attempt_at(path, [&](Program& p) { drop_given(p.steps[s], true, o); });
    }
    // A result that nobody uses.
    for (size_t r = step().num_results(); r-- > 0 && step().num_results() > 1;) {
      const size_t v = first_value(path, s) + r;
      changed |= attempt_at(path, [&](Program& p) {
        for (Program& body : p.steps[s].bodies) {
          if (r < body.results.size() && body.results.size() > 1)
            body.results.erase(body.results.begin() + static_cast<ptrdiff_t>(r));
        }
        remove_values(p, v, 1, 0);
      });
    }
    return changed;
  }
  static void drop_given(Step& step, bool is_operand, size_t i) {
    const size_t place = is_operand ? i : step.operands.size() + i;
    auto& list = is_operand ? step.operands : step.captures;
    list.erase(list.begin() + static_cast<ptrdiff_t>(i));
    for (Program& body : step.bodies) remove_values(body, place, 1, 0);
  }

  bool drop_parameters() {
    bool changed = false;
    for (size_t i = best_.parameters.size(); i-- > 0 && best_.parameters.size() > 1;) {
      changed |= attempt([&](Program& p) {
        p.parameters.erase(p.parameters.begin() + static_cast<ptrdiff_t>(i));
        remove_values(p, i, 1, 0);
      });
    }
    return changed;
  }
  bool simplify_types() {
    bool changed = false;
    for (size_t i = 0; i < best_.parameters.size(); ++i) {
      const Type type = best_.parameters[i];
      std::vector<Type> simpler{{DType::kF32, {}}, {type.dtype, {}}, {DType::kF32, type.dims}};
      for (size_t d = 0; d < type.dims.size(); ++d) {
        simpler.push_back(type);
        simpler.back().dims[d] = 1;
      }
      for (const Type& t : simpler) {
        if (t == best_.parameters[i]) continue;
        if (t.dtype == DType::kF32 || t.dtype == type.dtype)
          changed |= t.num_elements() <= best_.parameters[i].num_elements() &&
                     attempt([&](Program& p) { p.parameters[i] = t; });
      }
    }
    return changed;
  }

  Program best_;
  Fails fails_;
  int left_ = 0;
};

}  // namespace axle::testing::fuzz
