// State and outputs of one call of a tree of layers. The layers themselves hold neither, so that
// the caller sees a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/class_call.h"
#include "base/tree.h"
#include "config/fields.h"
#include "ir/devices/mesh.h"
#include "ir/tensor.h"
#include "nn/tensor_tree.h"
#include "ops/random/random.h"

namespace axle {

class Layer;

/// What a call returns besides its result. All keys are "<layer path>/<name>".
struct OutputCollection {
  Tree<Tensor> summaries = {};   // for people; outside of the gradient
  Tree<Tensor> aux_losses = {};  // scalars that the objective must include
  Tree<Tensor> outputs = {};     // other named tensors
  Tree<Tensor> state = {};       // new values of state (moving statistics, caches)
  Tree<Tensor> published = {};   // newest values for later layers, by the name they chose

  template <class F>
  void each_field(F&& fn) {
    fn("summaries", summaries);
    fn("aux_losses", aux_losses);
    fn("outputs", outputs);
    fn("state", state);
    fn("published", published);
  }
};

struct InvocationOptions {
  /// Enables dropout and remat.
  bool training = false;
  /// PRNG key; none if no layer draws random numbers.
  random::Key key = {};
  /// Values of state by path, as Layer::state_specs and Layer::decode_state_specs name them.
  Tree<Tensor> state = {};
  /// Values that layers may read by name before any layer has published them.
  Tree<Tensor> published = {};
  /// i32[B, T]: the segments of the tokens, of which 0 is padding; none: every position holds a
  /// token. A call whose context has segment ids uses those (Invocation::set_segment_ids).
  std::optional<Tensor> segment_ids = {};
  /// The call appends tokens to the caches in `state`: prefill and extend_step.
  bool decoding = false;
  /// True keeps the values given to add_summary. False drops them, and with them the ops that
  /// compute them.
  bool summaries = true;
  /// The dtype that the caller has cast the parameters to; none: they have their own.
  std::optional<DType> compute_dtype = {};
  /// The call is inside the body of a loop, where remat needs no barriers.
  bool in_loop = false;
  /// The mesh over which values will be sharded, for layers that sum on each device before they sum
  /// across devices.
  Mesh mesh = {};
};

/// Removes the inputs "published/<name>" of a call and returns them by name, for
/// InvocationOptions::published.
Tree<Tensor> take_published(Tree<Tensor>& inputs);
/// The same for the input "segment_ids" of a method that does not read it itself (`names`), for
/// InvocationOptions::segment_ids.
std::optional<Tensor> take_segment_ids(Tree<Tensor>& inputs, const std::vector<std::string>& names);

/// One call of a tree of layers. Each thread has a stack of them; current() is the innermost.
class Invocation {
 public:
  /// `root` is the path of the layer that is called first. The key of that layer is options.key,
  /// without folding.
  Invocation(std::string root, Tree<Tensor> parameters, InvocationOptions options);
  ~Invocation();
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;
  /// Throws InternalError outside any invocation.
  static Invocation& current();

  /// The call of one layer. Paths and keys inside it derive from it.
  class Frame {
   public:
    explicit Frame(const Layer& layer);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    NameScope name_;
    ClassCall call_;
  };

  const Tree<Tensor>& parameters() const { return parameters_; }
  const InvocationOptions& options() const { return options_; }
  /// Throws ConfigError if the caller passed no such parameter.
  const Tensor& parameter(const std::string& path) const;
  /// Returns the state that the call began with. Throws ConfigError if the caller passed none.
  const Tensor& stored_state(const std::string& path) const;
  /// Returns the key of the current call: fold_in(key of the caller, hash of the layer's name). A
  /// repeated call of a layer folds in its index as well. Throws ConfigError if the invocation has
  /// no key.
  random::Key key();
  /// Returns the path of the current call: the layer's path, followed by "#1" for its second call.
  const std::string& path() const { return frames_.back().path; }

  /// Returns the segment ids of the current call, i32[B, T]; none: every position holds a token. A
  /// call inherits the caller's unless it sets its own.
  const std::optional<Tensor>& segment_ids() const { return frames_.back().segment_ids; }
  /// Sets the segment ids of the rest of the current call and of the calls inside it.
  void set_segment_ids(std::optional<Tensor> ids) { frames_.back().segment_ids = std::move(ids); }
  /// True if a call is in progress in this thread.
  static bool in_call();

  OutputCollection& collection() { return collection_; }
  /// Returns the newest value published under `name`; nullptr if there is none.
  const Tensor* published(const std::string& name) const;
  /// Adds the collection of a nested invocation. Its tensors must belong to the region of this
  /// invocation.
  void merge(OutputCollection inner);
  /// Returns the options for a nested invocation in a region of its own: the current state and
  /// published values, and the current call's key and segment ids.
  InvocationOptions nested_options();

 private:
  struct FrameState {
    std::string path;
    uint32_t name_hash = 0;
    int call_index = 0;
    bool is_root = false;
    Region* region = nullptr;  // where the call began; none without a key, and for the root
    random::Key key = {};
    std::optional<Tensor> segment_ids = {};
  };
  random::Key key_of(size_t frame);
  Tree<Tensor> parameters_;
  InvocationOptions options_;
  OutputCollection collection_;
  std::vector<FrameState> frames_;
  Tree<int> calls_;
  Invocation* outer_;
};

// The keys of a sequence of draws. Each key is split off the rest, so that the first keys do not
// depend on how many follow.

/// Initialisation passes keys to parameters and children in this way, in order of declaration.
class KeySequence {
 public:
  explicit KeySequence(const random::Key& key) : rest_(key) {}
  random::Key next() {
    const std::vector<random::Key> keys = random::split_each(rest_);
    rest_ = keys[0];
    return keys[1];
  }

 private:
  random::Key rest_;
};

/// What a key keeps of a seed (random::key_words): 32 bits. Seeds beyond them would be others.
inline constexpr Bounds kSeedBounds = {.min = 0, .max = 4294967295};
using Seed = Ranged<int64_t, kSeedBounds>;

}  // namespace axle
