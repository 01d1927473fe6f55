#include "data/tokenizers/ranks/families.h"

#include <fmt/format.h>

#include <algorithm>

namespace axle {

namespace split_patterns {
const std::string_view kGpt2 =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kCl100k =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+)"
    R"(|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
const std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kQwen =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}  // namespace split_patterns

namespace {

using Specials = std::vector<RanksFamilyRow::Special>;

// Numbers names from the first free id on.
class Names {
 public:
  void add(std::string name) {
    const auto offset = static_cast<int64_t>(specials_.size());
    specials_.push_back({std::move(name), offset});
  }
  void add(std::initializer_list<const char*> names) {
    for (const char* const name : names) add(std::string(name));
  }
  // Adds names with numbers, such as "<|extra_{}|>".
  void add(std::string_view pattern, int first, int end) {
    for (int i = first; i < end; ++i) add(fmt::format(fmt::runtime(pattern), i));
  }
  // Adds numbered names until there are `count` names.
  void fill(std::string_view pattern, int first, size_t count) {
    const auto missing = static_cast<int>(count - specials_.size());
    add(pattern, first, first + missing);
  }
  Specials take() { return std::move(specials_); }

 private:
  Specials specials_;
};

Specials gpt2_specials() { return {{"<|endoftext|>", 0}}; }
// The published ranks leave out the id of this token.
Specials p50k_specials() { return {{"<|endoftext|>", -24}}; }
Specials cl100k_specials() {
  return {{"<|endoftext|>", 1},
          {"<|fim_prefix|>", 2},
          {"<|fim_middle|>", 3},
          {"<|fim_suffix|>", 4},
          {"<|endofprompt|>", 20}};
}
Specials o200k_specials() { return {{"<|endoftext|>", 1}, {"<|endofprompt|>", 20}}; }

Specials llama3_specials() {
  constexpr size_t kCount = 256;
  Names names;
  names.add({"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>",
             "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>", "<|step_id|>",
             "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>",
             "<|python_tag|>", "<|image|>"});
  names.fill("<|reserved_special_token_{}|>", 2, kCount);
  return names.take();
}

Specials llama4_specials() {
  constexpr size_t kCount = 2048;
  Names names;
  names.add({"<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>",
             "<|fim_suffix|>", "<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>",
             "<|step|>"});
  names.add("<|text_post_train_reserved_special_token_{}|>", 0, 6);
  names.add({"<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"});
  names.add("<|text_post_train_reserved_special_token_{}|>", 8, 69);
  names.add({"<|image_start|>", "<|image_end|>"});
  names.add("<|vision_reserved_special_token_{}|>", 0, 2);
  names.add({"<|tile_x_separator|>", "<|tile_y_separator|>"});
  names.add("<|vision_reserved_special_token_{}|>", 2, 6);
  names.add({"<|image|>", "<|vision_reserved_special_token_6|>", "<|patch|>"});
  names.add("<|vision_reserved_special_token_{}|>", 7, 1048);
  names.add("<|reasoning_reserved_special_token_{}|>", 0, 8);
  names.add({"<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"});
  names.fill("<|reserved_special_token_{}|>", 0, kCount);
  return names.take();
}

Specials qwen_specials() {
  Names names;
  names.add({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  names.add("<|extra_{}|>", 0, 205);
  return names.take();
}

Specials qwen35_specials() {
  Names names;
  names.add({"<|endoftext|>",
             "<|im_start|>",
             "<|im_end|>",
             "<|object_ref_start|>",
             "<|object_ref_end|>",
             "<|box_start|>",
             "<|box_end|>",
             "<|quad_start|>",
             "<|quad_end|>",
             "<|vision_start|>",
             "<|vision_end|>",
             "<|vision_pad|>",
             "<|image_pad|>",
             "<|video_pad|>",
             "<tool_call>",
             "</tool_call>",
             "<|fim_prefix|>",
             "<|fim_middle|>",
             "<|fim_suffix|>",
             "<|fim_pad|>",
             "<|repo_name|>",
             "<|file_sep|>",
             "<tool_response>",
             "</tool_response>",
             "<think>",
             "</think>",
             "<|audio_start|>",
             "<|audio_end|>",
             "<tts_pad>",
             "<tts_text_bos>",
             "<tts_text_eod>",
             "<tts_text_bos_single>",
             "<|audio_pad|>"});
  return names.take();
}

constexpr std::string_view kEndOfText = "<|endoftext|>";

const RanksFamilyRow kRows[] = {
    {RanksFamily::kGpt2, 50256, split_patterns::kGpt2, gpt2_specials, "", kEndOfText, "", false},
    {RanksFamily::kP50k, 50280, split_patterns::kGpt2, p50k_specials, "", kEndOfText, "", false},
    {RanksFamily::kCl100k, 100256, split_patterns::kCl100k, cl100k_specials, "", kEndOfText, "",
     false},
    {RanksFamily::kO200k, 199998, split_patterns::kO200k, o200k_specials, "", kEndOfText, "",
     false},
    {RanksFamily::kLlama3, 128000, split_patterns::kLlama3, llama3_specials, "<|begin_of_text|>",
     "<|end_of_text|>", "<|finetune_right_pad_id|>", true},
    {RanksFamily::kLlama4, 200000, split_patterns::kO200k, llama4_specials, "<|begin_of_text|>",
     "<|end_of_text|>", "<|finetune_right_pad|>", true},
    {RanksFamily::kQwen, 151643, split_patterns::kQwen, qwen_specials, "", kEndOfText, kEndOfText,
     false},
    {RanksFamily::kQwen35, 248044, split_patterns::kQwen35, qwen35_specials, "", kEndOfText,
     kEndOfText, false},
};

}  // namespace

const RanksFamilyRow* find_ranks_family(RanksFamily family, int64_t num_ranks) {
  const auto row = std::ranges::find_if(kRows, [&](const RanksFamilyRow& r) {
    return family == RanksFamily::kAuto ? r.num_ranks == num_ranks : r.family == family;
  });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace axle
