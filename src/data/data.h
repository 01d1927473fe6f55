// Includes all inputs, sources and tokenizers, for recipes.
#pragma once

#include "data/chat/chat_input.h"
#include "data/chat/chat_source.h"
#include "data/input.h"
#include "data/source.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "data/text_source.h"
#include "data/token_files/token_input.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/llama2c_tokenizer.h"
#include "data/tokenizers/ranks/ranks_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "data/tokenizers/tokenizer.h"
