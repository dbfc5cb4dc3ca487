/**
 * Whether an engine that answers so knows the path of a call, and lacks the model: its error names the model. llama.cpp
 * has the status 400 where it serves several models.
 */
export function isModelMissing(status: number, error: string, model: string): boolean {
  return status === 404 ? error.includes(model) : status === 400 && error.includes(`model '${model}' not found`)
}

/**
 * Whether a vendor says that it does not know the model, most of them with the status 400. `names`: the code and the
 * type of the error. The words count only at the start, because an error may quote the request.
 */
export function isModelUnknown(names: string, message: string): boolean {
  return UNKNOWN_NAMES.test(names) || UNKNOWN_WORDS.test(message)
}

/** OpenAI and others, Mistral, Together, Groq, Zhipu. */
const UNKNOWN_NAMES = /\b(model_not_found|invalid_model|model_not_available|model_decommissioned|1211)\b/

const UNKNOWN_WORDS = new RegExp(
  [
    // DeepSeek and Alibaba, Zhipu, OpenRouter, Bedrock, Hugging Face, LM Studio, LiteLLM.
    '^model not exist\\b',
    '^unknown model\\b',
    '^\\S+ is not a valid model id\\b',
    '^the provided model identifier is invalid\\b',
    "^the requested model '[^']*' does not exist\\b",
    '^invalid model identifier\\b',
    '^(/\\S+: )?invalid model name passed in\\b',
  ].join('|'),
  'i',
)
