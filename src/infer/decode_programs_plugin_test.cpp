// The memory that a compiled decode step needs.
#include <gmock/gmock.h>

#include "infer/decode_programs.h"
#include "infer/generator.h"
#include "interop/tiny_model_test.h"
#include "layers/blocks/stack.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

using DecodePrograms = PluginTest;

TEST_F(DecodePrograms, CachesInALoopAreUpdatedInPlace) {
  const TinyModel tiny = random_model(Repeat::Config{.num_layers = 16, .layer = tiny_layer()});
  const DecodeShape shape{.cache_len = 4096};
  int64_t cache_bytes = 0;
  for (const ProgramValue& v : decode_state(*tiny.model, shape)) {
    if (v.type.rank() > 1) cache_bytes += static_cast<int64_t>(v.type.num_bytes());
  }
  // Keys and values of two heads of four numbers, and a segment.
  ASSERT_EQ(cache_bytes, 16 * 4096 * (2 * 2 * 4 + 1) * int64_t{sizeof(float)});
  const auto step = runtime_->compile(decode_program(*tiny.model, shape, {}));
  const MemoryStats memory = step->memory().value();
  EXPECT_GE(memory.alias_bytes, cache_bytes);
  // The temporaries hold the caches of a few layers at a time, not of all.
  EXPECT_LT(memory.temporary_bytes, cache_bytes / 2);
}

class DecodeMesh : public PluginTest {
 protected:
  DecodeMesh() : PluginTest(4) {}
};

TEST_F(DecodeMesh, SeveralDevicesGenerateTheSameTokensAsOne) {
  TinyModel tiny = random_model(Repeat::Config{.num_layers = 2, .layer = tiny_layer()});
  const auto one = make_runtime({});
  const std::vector<TokenIds> prompts = {{3, 14, 15, 9, 26}};
  const GenerateOptions options{.max_tokens = 20};
  const TokenIds expected =
      Generator(*tiny.model, tiny.parameters, *one, {}).generate(prompts, options).rows[0].tokens;
  for (const char* text : {"model=2,fsdp=2", "fsdp=4"}) {
    Mesh mesh;
    from_text(text, mesh);
    Generator generator(*tiny.model, tiny.parameters, *runtime_, {.mesh = mesh});
    EXPECT_EQ(generator.generate(prompts, options).rows[0].tokens, expected) << text;
  }
}

}  // namespace
}  // namespace axle
