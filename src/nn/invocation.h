// State and outputs of one call of a tree of layers. Layers hold neither: the caller sees a pure
// function.
#pragma once

#include <string>
#include <vector>

#include "base/tree.h"
#include "ir/mesh.h"
#include "ir/tensor.h"
#include "nn/tensor_tree.h"

namespace axle {

class Layer;

/// What a call gives beside its result; all keys are "<layer path>/<name>".
struct OutputCollection {
  Tree<Tensor> summaries = {};   // for people; outside of the gradient
  Tree<Tensor> aux_losses = {};  // scalars that the objective must take in
  Tree<Tensor> outputs = {};     // other named tensors
  Tree<Tensor> state = {};       // new values of state (moving statistics, caches)

  template <class F>
  void each_field(F&& fn) {
    fn("summaries", summaries);
    fn("aux_losses", aux_losses);
    fn("outputs", outputs);
    fn("state", state);
  }
};

struct InvocationOptions {
  /// Dropout draws, remat applies.
  bool training = false;
  /// u32[2]; none where no layer draws.
  Tensor key = {};
  /// State by path, as Layer::decode_state_specs and moving statistics name it.
  Tree<Tensor> state = {};
  /// Tokens are appended to the caches in `state`: prefill and extend_step.
  bool decoding = false;
  /// Whether add_summary keeps what it gets; otherwise the ops behind it vanish from the program.
  bool summaries = true;
  /// The body of a loop: remat needs no barriers there.
  bool in_loop = false;
  /// What the values will be laid over, for layers that sum on each device before they sum between
  /// devices.
  Mesh mesh = {};
};

/// The innermost Invocation is the thread's own.
class Invocation {
 public:
  /// `root` is the path of the layer that is called first; its key is the invocation's, unfolded.
  Invocation(std::string root, Tree<Tensor> parameters, InvocationOptions options);
  ~Invocation();
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;
  /// Throws InternalError outside any invocation.
  static Invocation& current();

  /// A call of a layer: paths and keys of what happens within derive from it.
  class Frame {
   public:
    explicit Frame(const Layer& layer);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    NameScope name_;
  };

  const Tree<Tensor>& parameters() const { return parameters_; }
  const InvocationOptions& options() const { return options_; }
  /// Throws ConfigError if the caller gave no such parameter.
  const Tensor& parameter(const std::string& path) const;
  /// Key of the current call: fold_in(key of the caller, hash of the layer's name), and of the
  /// call's index if it is not the first. Throws ConfigError if the invocation has no key.
  Tensor key();
  bool has_key() const { return static_cast<bool>(options_.key); }
  /// Path of the current call: the layer's path, "#1" behind it for its second call.
  const std::string& path() const { return frames_.back().path; }

  OutputCollection& collection() { return collection_; }
  /// Adds what a nested invocation collected; tensors must be of this one's region.
  void merge(OutputCollection inner);
  /// Options for a nested invocation in a region of its own: same state, and the current call's
  /// key.
  InvocationOptions nested_options();

 private:
  struct FrameState {
    std::string path;
    uint32_t name_hash = 0;
    int call_index = 0;
    bool is_root = false;
    Tensor key = {};
  };
  Tensor key_of(size_t frame);
  Tree<Tensor> parameters_;
  InvocationOptions options_;
  OutputCollection collection_;
  std::vector<FrameState> frames_;
  Tree<int> calls_;
  Invocation* outer_;
};

}  // namespace axle
