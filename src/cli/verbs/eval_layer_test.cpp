// Tests `eval-layer` through the command line.
#include <gmock/gmock.h>

#include "cli/run_test.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "testing/peak_memory.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

class EvalLayerVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    replace_file(dir_ / "layer.yaml", kLinearLayer);
    save_safetensors(dir_ / "in.safetensors", {{"in/query", HostTensor({1, 2}, {1.0f, 2.0f})},
                                               {"cotangent/0", HostTensor::ones({1, 1})}});
    save_safetensors(dir_ / "params.safetensors",
                     {{"params/kernel", HostTensor({2, 1}, {3.0f, 4.0f})}});
    replace_file(dir_ / "names.txt", "kernel -> weight\nin/query -> in/x\n");
  }
  Ran run(const Arguments& more) {
    return run_axle(
        replaced({"eval-layer", dir_ / "layer.yaml", "--inputs", dir_ / "in.safetensors",
                  "--backend", "interpreter", "--output", dir_ / "out.safetensors"},
                 more));
  }
  TempDir dir_;
};

TEST_F(EvalLayerVerb, RenamesParametersOnInputAndOutput) {
  const Ran ran =
      run({"--params", dir_ / "params.safetensors", "--rename", dir_ / "names.txt", "--grad"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  Tree<HostTensor> out = load_safetensors(dir_ / "out.safetensors");
  EXPECT_EQ(out.at("out"), HostTensor({1, 1}, {11.0f}));
  EXPECT_EQ(out.at("grad/params/weight"), HostTensor({2, 1}, {1.0f, 2.0f}));
  EXPECT_EQ(out.at("grad/in/x"), HostTensor({1, 2}, {3.0f, 4.0f}));
  ASSERT_EQ(run({"--params", dir_ / "params.safetensors", "--rename", dir_ / "names.txt", "--grad",
                 "--their-names"})
                .code,
            0);
  out = load_safetensors(dir_ / "out.safetensors");
  EXPECT_TRUE(out.contains("grad/params/kernel"));
  EXPECT_TRUE(out.contains("grad/in/query"));
}

// A file may hold more than inputs only if it is also used for something else.
TEST_F(EvalLayerVerb, UnreadInputsAreRefused) {
  const std::string in = dir_ / "in.safetensors", other = dir_ / "other.safetensors";
  const Tree<HostTensor> good = {{"in/x", HostTensor::ones({1, 2})},
                                 {"params/weight", HostTensor::ones({2, 1})},
                                 {"out", HostTensor::full({1, 1}, 2)}};
  save_safetensors(other, good);
  for (const char* name : {"params/nonsense", "params/weight", "init_params/weight", "grad/0/w",
                           "out", "cotangent/nonsense", "cotangent/0"}) {
    const auto refusal = [&](const std::vector<std::string>& more) {
      const Ran ran = run(more);
      EXPECT_EQ(ran.code, ran.err.empty() ? 0 : 2) << ran.err;
      return ran.err;
    };
    save_safetensors(in, {{"in/x", HostTensor::ones({1, 2})}, {name, HostTensor::ones({1, 1})}});
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--seed", "1"}, {"--params", other}}) {
      EXPECT_THAT(refusal(more), HasSubstr(std::string("in.safetensors: ") + name +
                                           ": nothing in this call reads it; "));
    }
    Tree<HostTensor> all = good;
    all.emplace(name, HostTensor::ones({1, 1}));
    save_safetensors(in, all);
    EXPECT_EQ(refusal({"--params", other, "--compare", in}), "") << name;
    if (std::string_view(name) != "params/nonsense") {
      EXPECT_EQ(refusal({"--params", in}), "") << name;
    }
  }
  save_safetensors(
      in, {{"in/x", HostTensor::ones({1, 2})}, {"cotangent/nonsense", HostTensor::ones({1, 1})}});
  EXPECT_THAT(
      run({"--seed", "1", "--grad"}).err,
      HasSubstr("cotangent/nonsense: expected a floating-point output of this name, got none"));
}

// A mistake in the inputs is reported before parameters are drawn, however large they are.
TEST_F(EvalLayerVerb, MistakesAreReportedBeforeParametersAreDrawn) {
  save_safetensors(dir_ / "in.safetensors",
                   {{"in/x", HostTensor::ones({2, 4})}, {"in/ids", HostTensor::ones({2, 4})}});
  for (const char* layer :
       {"class: RMSNorm\ndims: {input_dim: 1000000000}\n",
        "class: Linear\ndims: {input_dim: 30000, output_dim: 30000}\n",
        "class: Embedding\ndims: {vocab_size: 100000000, model_dim: 16}\n",
        "class: CausalLM\nconfig: {decoder: {class: Decoder, model_dim: 16, vocab_size: 100000000, "
        "layers: {class: Stacked, num_layers: 1, layer: {class: PreNorm, body: "
        "FeedForward}}}}\n"}) {
    replace_file(dir_ / "layer.yaml", layer);
    const int64_t before = peak_resident_bytes();
    const Ran ran = run({"--seed", "1"});
    EXPECT_NE(ran.code, 0) << layer;
    EXPECT_NE(ran.code, 1) << ran.err;
    EXPECT_LT(peak_resident_bytes() - before, 200 << 20) << layer << ran.err;
  }
}

TEST_F(EvalLayerVerb, Mistakes) {
  save_safetensors(dir_ / "in.safetensors", {{"in/query", HostTensor({1, 2}, {1.0f, 2.0f})}});
  const Ran names = run({"--params", dir_ / "params.safetensors", "--seed", "1"});
  EXPECT_EQ(names.code, 3);
  EXPECT_EQ(names.err,
            "axle: params/weight: expected f32[2, 1], got none; params/kernel: not a parameter of "
            "this layer\n");
  const Ran inputs = run({"--seed", "1"});
  EXPECT_EQ(inputs.code, 3);
  EXPECT_THAT(inputs.err, HasSubstr("in/x: "));
  const Ran none = run({"--params", dir_ / "none.safetensors"});
  EXPECT_EQ(none.code, 3);
  EXPECT_EQ(none.err, "axle: " + (dir_ / "none.safetensors") +
                          ": expected a safetensors file, got nothing there\n");
  const Ran text = run({"--params", dir_ / "layer.yaml"});
  EXPECT_EQ(text.code, 3);
  EXPECT_THAT(text.err, HasSubstr(": expected a safetensors file, got a text that begins"));
  for (const char* precision : {"f33", "i32", "pred"})
    EXPECT_EQ(run({"--seed", "1", "--precision", precision}).code, 2);
  EXPECT_EQ(run({"--seed", "1", "--cache-len", "4"}).code, 2);
  EXPECT_EQ(run({"--seed", "one"}).code, 2);
  // Flags that would silently be ignored.
  const Ran no_output = run_axle({"eval-layer", dir_ / "layer.yaml"});
  EXPECT_EQ(no_output.code, 2);
  EXPECT_EQ(no_output.err, "axle eval-layer: expected --output or --compare, got neither\n");
  EXPECT_EQ(run({"--seed", "1", "--tolerance", "1"}).code, 2);
  EXPECT_EQ(run({"--seed", "1", "--compare", dir_ / "none"}).code, 3);
  for (const char* tolerance : {"nan", "-1", "x=", "0.1.2"})
    EXPECT_EQ(
        run({"--seed", "1", "--compare", dir_ / "in.safetensors", "--tolerance", tolerance}).code,
        2);
  EXPECT_EQ(run_axle({"eval-layer", "no-such-recipe", "--compare", "x"}).code, 2);
  save_safetensors(dir_ / "in.safetensors", {{"inn/x", HostTensor::ones({1, 2})}});
  const Ran section = run({"--seed", "1"});
  EXPECT_EQ(section.code, 2);
  EXPECT_THAT(section.err, HasSubstr("in.safetensors: inn/x: expected a name below in/, state/, "
                                     "got one that nothing reads; did you mean"));
  replace_file(dir_ / "in.safetensors", "damaged");
  EXPECT_EQ(run({"--seed", "1"}).code, 3);
}

TEST_F(EvalLayerVerb, FlagsWithoutEffectAreRefused) {
  const auto expect = [&](const Arguments& more, const std::string& message) {
    const Ran ran = run_axle(joined(
        {"eval-layer", dir_ / "layer.yaml", "--seed", "1", "--inputs", dir_ / "in.safetensors"},
        more));
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, "axle: " + message + "\n");
  };
  const std::string file = dir_ / "out.safetensors";
  expect({"--output", file, "--json"},
         "--json: expected use with --compare, whose table it prints, got no --compare");
  expect({"--output", file, "--tolerance", "1"},
         "--tolerance: expected use with --compare, got no --compare");
  expect({"--compare", file, "--their-names"},
         "--their-names: expected use with --output, got no --output");
}

// Else the results would replace what they were computed from.
TEST_F(EvalLayerVerb, OutputMustNotBeAnInput) {
  const std::string inputs = dir_ / "in.safetensors", before = read_file(inputs);
  std::filesystem::create_symlink(inputs, dir_ / "link");
  for (const std::string& output : {inputs, dir_ / "layer.yaml", dir_ / "link"}) {
    const Ran ran = run_axle(
        {"eval-layer", dir_ / "layer.yaml", "--seed", "1", "--inputs", inputs, "--output", output});
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err,
              "axle: --output: expected a file that this command does not use otherwise, got " +
                  output + "; name another\n");
  }
  EXPECT_EQ(read_file(inputs), before);
}

// The backend, which is also a mistake, is looked up after all files.
TEST_F(EvalLayerVerb, FilesAreCheckedBeforeAnythingIsComputed) {
  save_safetensors(dir_ / "in.safetensors", {{"in/x", HostTensor({1, 2}, {1.0f, 2.0f})}});
  const auto expect = [&](const Arguments& more, int code, const std::string& message) {
    const Ran ran = run(joined(more, {"--seed", "1", "--backend", "nowhere"}));
    EXPECT_EQ(ran.code, code);
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_FALSE(path_exists(dir_ / "out.safetensors"));
  };
  const std::string reference = dir_ / "reference.safetensors";
  expect({}, 2, "backend: expected one of");
  expect({"--output", dir_ / "no/such/out"}, 4, "no/such/out: cannot create");
  expect({"--output", dir_.path().string()}, 4, "cannot write a file: Is a directory");
  expect({"--compare", reference}, 3, "reference.safetensors: expected a safetensors file, got");
  replace_file(reference, "damaged");
  expect({"--compare", reference}, 3, "reference.safetensors");
  save_safetensors(reference, {{"in/x", HostTensor::ones({1})}});
  expect({"--compare", reference}, 2, "expected results to compare with, got none");
  std::string half = read_file(reference);
  half.replace(half.find("in/x"), 4, "out1").replace(half.find("F32"), 3, "C64");
  replace_file(reference, half);
  expect({"--compare", reference}, 3, "C64");
}

// Results that took hours to compute are kept even if only their comparison fails.
TEST_F(EvalLayerVerb, ResultsAreWrittenBeforeTheyAreCompared) {
  save_safetensors(dir_ / "reference.safetensors",
                   {{"out", HostTensor::ones({1, 1})}, {"grad/params/other", HostTensor()}});
  const Ran ran = run({"--params", dir_ / "params.safetensors", "--rename", dir_ / "names.txt",
                       "--grad", "--compare", dir_ / "reference.safetensors"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("other"));
  EXPECT_TRUE(path_exists(dir_ / "out.safetensors"));
}

TEST_F(EvalLayerVerb, Compares) {
  const std::string reference = dir_ / "reference.safetensors";
  const std::vector<std::string> arguments = {"--params",  dir_ / "params.safetensors",
                                              "--rename",  dir_ / "names.txt",
                                              "--compare", reference,
                                              "--grad"};
  const HostTensor gradient({2, 1}, {1.0f, 2.0f});
  save_safetensors(reference,
                   {{"out", HostTensor({1, 1}, {11.0f})}, {"grad/params/kernel", gradient}});
  const Ran same = run(arguments);
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out,
              HasSubstr("grad/params/kernel  f32[2, 1]  0        0        1e-05      ok\n"));
  EXPECT_EQ(same.err, "");
  for (const auto& [pattern, code] : {std::pair("foo", 2), {"grad/**", 0}, {"out", 0}}) {
    std::vector<std::string> more = arguments;
    more.insert(more.end(), {"--tolerance", std::string(pattern) + "=1"});
    const Ran ran = run(more);
    EXPECT_EQ(ran.code, code) << pattern;
    if (code == 0) continue;
    EXPECT_EQ(ran.err, "axle: --tolerance: expected a pattern that matches a tensor of " +
                           reference + ", got 'foo'\n");
  }

  save_safetensors(reference, {{"out", HostTensor({1, 1}, {11.01f})},
                               {"grad/in/query", HostTensor::ones({2})},
                               {"out/more", HostTensor::ones({2})}});
  const Ran other = run(arguments);
  EXPECT_EQ(other.code, 17);
  EXPECT_THAT(other.out, HasSubstr("other shape: f32[1, 2]"));
  EXPECT_EQ(other.err, "axle: " + reference +
                           ": expected 3 tensors to agree, got 1 differ (out), 1 of another shape "
                           "(grad/in/query), 1 missing (out/more)\n");
  EXPECT_TRUE(path_exists(dir_ / "out.safetensors"));  // the results can still be inspected
}

}  // namespace
}  // namespace axle
