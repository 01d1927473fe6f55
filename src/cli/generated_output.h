// How `axle generate` shows text while it appears, and reads the messages of a conversation.
#pragma once

#include <optional>
#include <string>

#include "cli/output.h"
#include "infer/chat_session.h"

namespace axle::cli {

/// Writes what is generated as it appears, or as JSON when it is whole, and its speed to stderr.
class GeneratedOutput {
 public:
  /// `before` is written before the first piece, so that a refused prompt is not echoed.
  explicit GeneratedOutput(Output& out, std::string before = {})
      : out_(out), before_(std::move(before)) {}
  TextGenerator::OnText on_text();
  void finish(const GeneratedText& generated);

 private:
  void begin();
  Output& out_;
  std::string before_;
};

/// Answers one message, or each line of stdin that is not empty.
void converse(ChatSession& session, const std::optional<std::string>& message,
              const GenerateOptions& options, Output& out);

}  // namespace axle::cli
