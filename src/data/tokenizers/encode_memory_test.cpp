// Compares the memory that tokenizers say encode() takes with what it allocates.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "config/fields.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/llama2c_tokenizer.h"
#include "data/tokenizers/reference_texts_test.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "testing/temp_dir.h"
#include "testing/tiny_llama.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

// Bytes that this thread has allocated and not freed, and the most of them.
thread_local int64_t held = 0, most_held = 0;

void count(void* memory, int64_t sign) {
  held += sign * static_cast<int64_t>(::malloc_usable_size(memory));
  most_held = std::max(most_held, held);
}

}  // namespace
}  // namespace axle

void* operator new(size_t size) {
  void* const memory = std::malloc(size);
  if (!memory) throw std::bad_alloc();
  axle::count(memory, 1);
  return memory;
}
void operator delete(void* memory) noexcept {
  axle::count(memory, -1);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace axle {
namespace {

int64_t allocated_by_encode(const Tokenizer& tokenizer, std::string_view text) {
  tokenizer.encode(text);  // what stays from text to text is there
  most_held = held;
  const int64_t before = held;
  tokenizer.encode(text);
  return most_held - before;
}

std::string repeated(std::string_view part, size_t size) {
  std::string out;
  while (out.size() < size) out += part;
  return out;
}

struct Text {
  const char* name;
  std::string text;
};
// Text in words, and text that is one stretch without a space.
struct Texts {
  std::vector<Text> words, stretches;
};
Texts texts_of(size_t size) {
  std::string lines, letters;
  for (const std::string& line : made_up_lines(100, 8)) lines += line + "\n";
  for (const char c : lines) {
    if (c >= 'a' && c <= 'z') letters += c;
  }
  return {{{"lines", repeated(lines, size)}, {"a a", repeated("a ", size)}},
          {{"letters", repeated(letters, size)},
           {"a", repeated("a", size)},
           {"digits", repeated("1415926535", size)},
           {"spaces", repeated(" ", size)},
           {"signs", repeated("!?,.;", size)},
           {"cats", repeated("\xe7\x8c\xab", size)},
           {"smiles", repeated("\xf0\x9f\x98\x80", size)}}};
}

// No text takes more than is reported, and some text of either form takes at least a third of it.
void expect_tells_its_memory(const Tokenizer& tokenizer) {
  double of_words = 0, of_stretches = 0;
  for (const size_t size : {33'000, 35'000, 40'000, 46'000, 55'000, 66'000}) {  // vectors double
    const Texts texts = texts_of(size);
    for (const auto& [form, most] :
         {std::pair(&texts.words, &of_words), std::pair(&texts.stretches, &of_stretches)}) {
      for (const auto& [name, text] : *form) {
        const int64_t told = tokenizer.encode_memory(text),
                      taken = allocated_by_encode(tokenizer, text);
        constexpr int64_t kFew = 4096;  // for any text
        EXPECT_LE(taken, told + kFew) << name << ", " << text.size() << " bytes";
        *most = std::max(*most, static_cast<double>(taken) / static_cast<double>(told));
      }
    }
  }
  EXPECT_GT(of_words, 1 / 3.0);
  if (tokenizer.encode_bytes().of_stretch > 0) {
    EXPECT_GT(of_stretches, 1 / 3.0);
  }
}

TEST(EncodeMemory, ByteTokenizerStatesItsUse) {
  expect_tells_its_memory(*Child<Tokenizer>(ByteTokenizer::Config{}).build({}, {}));
}

TEST(EncodeMemory, PipelinesStateTheirUse) {
  for (const char* kind :
       {"gpt2", "llama3", "o200k", "llama2", "mistral", "gemma", "t5", "nmt", "bert", "words"}) {
    SCOPED_TRACE(kind);
    const std::string path = reference_file(std::string("tokenizers/") + kind + ".json");
    expect_tells_its_memory(
        *Child<Tokenizer>(HuggingFaceTokenizer::Config{.path = path}).build({}, {}));
  }
}

TEST(EncodeMemory, SentencePieceModelsStateTheirUse) {
  const TempDir dir;
  for (const char* options :
       {"--model_type=bpe --vocab_size=400", "--model_type=unigram --vocab_size=300",
        "--model_type=char --vocab_size=60"}) {
    SCOPED_TRACE(options);
    replace_file(dir / "m.model", trained_tokenizer(options));
    expect_tells_its_memory(
        *Child<Tokenizer>(SentencePieceTokenizer::Config{.path = dir / "m.model"}).build({}, {}));
  }
}

TEST(EncodeMemory, Llama2cVocabulariesStateTheirUse) {
  const TempDir dir;
  replace_file(dir / "m.bin", llama2c_vocabulary(trained_bpe()));
  expect_tells_its_memory(
      *Child<Tokenizer>(Llama2cTokenizer::Config{.path = dir / "m.bin"}).build({}, {}));
}

}  // namespace
}  // namespace axle
