#include "base/text/file_format.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace axle {
namespace {

std::string name_of(std::string_view head) {
  const FileFormat* const format = recognized_format(head);
  return format ? std::string(format->name) : "";
}

std::string with_length(const std::string& header) {
  std::string out(8, '\0');
  out[0] = static_cast<char>(header.size());
  return out + header;
}

TEST(FileFormat, IsRecognisedByTheFirstBytes) {
  EXPECT_EQ(name_of(""), "an empty file");
  EXPECT_EQ(name_of("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"),
            "a git-LFS pointer");
  EXPECT_EQ(name_of("\x1f\x8b\x08 and so on"), "gzip");
  EXPECT_EQ(name_of("PK\x03\x04 and so on"), "a zip archive, as of PyTorch or NumPy");
  EXPECT_EQ(name_of(std::string("GGUF\x03\0\0\0", 8)), "a GGUF file");
  EXPECT_EQ(name_of("\x80\x04\x95 and so on"), "a Python pickle");
  EXPECT_EQ(name_of("PK\x03\x04 archive/data.pkl and so on"), "a Python pickle");
  EXPECT_EQ(name_of(std::string(257, 'a') + "ustar  "), "a tar archive");
  for (const char* page : {"<!DOCTYPE html>\n<html>", "\n  <HTML lang=\"en\">", "<head><title>"})
    EXPECT_EQ(name_of(page), "an HTML page") << page;
  EXPECT_EQ(name_of("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"),
            "an error message of an object store");
  EXPECT_EQ(name_of("<Error>\n<Code>NoSuchKey</Code>"), "an error message of an object store");
  EXPECT_EQ(name_of("<?xml version=\"1.0\"?><page>Error</page>"), "XML");
  EXPECT_EQ(name_of("<?xml"), "XML");
  EXPECT_EQ(name_of("IQ== 0\nIg== 1\nIw== 2\nJA== 3\n"),
            "a file of ranks, as of tiktoken and Llama 3");
  EXPECT_EQ(name_of("{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"added_tokens\": [\n"),
            "a tokenizer.json of Hugging Face");
  EXPECT_EQ(name_of("{\"add_bos\": true, \"tokenizer_class\": \"LlamaTokenizer\"}"),
            "a tokenizer_config.json of Hugging Face");
  EXPECT_EQ(name_of("{\n  \"architectures\": [\"LlamaForCausalLM\"]\n}"),
            "a config.json of Hugging Face");
  EXPECT_EQ(name_of("{\"<s>\": 0, \"\\\"\": 1,\n\"</s>\": 2, \"the"),
            "a vocab.json of BPE, as of GPT-2");
  EXPECT_EQ(name_of("\xEF\xBB\xBF\n{\"added_tokens\": ["), "a tokenizer.json of Hugging Face");
  EXPECT_EQ(name_of("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 7"),
            "a tokenizer.json of Hugging Face");
  EXPECT_EQ(name_of("{\"config\": {}, \"vocab\": [{\"rank\": 0, \"token_bytes\": \"AA==\""),
            "a Tekken tokenizer of Mistral");
  EXPECT_EQ(name_of("#version: 0.2\nt h\na n\n"), "a list of BPE merges, as of GPT-2");
  EXPECT_EQ(name_of("{\"metadata\": {\"total_size\": 1}, \"weight_map\": {\"a\": \"b\"}}"),
            "an index of safetensors files");
  EXPECT_EQ(name_of(with_length("{\"a\":{\"dtype\":\"F32\"}}")), "a safetensors file");
  EXPECT_EQ(name_of(std::string("\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\x0c", 18)),
            "a SentencePiece model");
}

TEST(FileFormat, OtherTextsAndBytesHaveNoName) {
  for (const std::string text :
       {"To be, or not to be\n", "recipe: quickstart\nset: {seed: 1}\n", "{a: 1}", "{\"a\": 1}",
        "#version: 1\nrecipe: quickstart\n", "#version: 1",
        "{\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4}", "{\"a\": 1, \"b\": \"c\", \"d\": 2, \"e\": 3}",
        "{\"a", "a 1\nb 2\n", "abcd 1\n", "four words here 4\nand here 5\n", "version 2\n",
        "\n\n\nfour\n", "10 20\n30 40\n", "\xff\xff\xff\xff", "abc", "\n"}) {
    EXPECT_EQ(name_of(text), "") << text;
  }
}

TEST(FileFormat, ErrorsNameTheFormatFound) {
  const std::string page = "<!doctype html><title>404</title>";
  try {
    check_format<DataError>("a.model", "a SentencePiece model", "a SentencePiece model", page);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "a.model: expected a SentencePiece model, got an HTML page; a download may have "
                 "failed; fetch the file again");
  }
  EXPECT_NO_THROW(check_format<DataError>("a", "x", "an HTML page", page));
  EXPECT_NO_THROW(check_format<DataError>("a", "x", "x", "plain text"));
}

}  // namespace
}  // namespace axle
