// What `axle tokenizer train` is asked for.
#pragma once

#include <string>

#include "data/tokenizers/training/train_tokenizer.h"

namespace CLI {
class App;
}  // namespace CLI

namespace axle::cli {

struct TokenizerArguments {
  TokenizerTraining training;
  std::string dir;
  double max_text_gigabytes = 4;

  void add_to(CLI::App& app);
  /// Returns the training that the flags ask for.
  TokenizerTraining resolved() const;

 private:
  void add_texts(CLI::App& app);
  void add_vocabulary(CLI::App& app);
  void add_special_tokens(CLI::App& app);
};

}  // namespace axle::cli
