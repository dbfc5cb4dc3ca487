/**
 * The chat completions request that is sent: the members that Ollama, llama.cpp, vLLM, LM Studio and vendors accept.
 */
import type { Json } from '../json/read-json.ts'
import type { CacheBreakpoint } from '../parts/content-list.ts'

export type ChatTextPart = { type: 'text'; text: string } & CacheBreakpoint
export type ChatImagePart = { type: 'image_url'; image_url: { url: string; detail?: string } } & CacheBreakpoint
export type ChatFilePart = { type: 'file'; file: { file_data: string; filename: string } } & CacheBreakpoint
export type ChatAudioPart = { type: 'input_audio'; input_audio: { data: string; format: string } } & CacheBreakpoint
export type ChatPart = ChatTextPart | ChatImagePart | ChatFilePart | ChatAudioPart

export type ChatToolCall = (
  | { id: string; type: 'function'; function: { name: string; arguments: string } }
  | { id: string; type: 'custom'; custom: { name: string; input: string } }
) & { extra_content?: Json }

export type ChatReasoning = { reasoning_content?: string; reasoning_details?: Json[] }

export type ChatMessage =
  | { role: 'system'; content: string | ChatTextPart[] }
  | { role: 'user'; content: string | ChatPart[] }
  | ({ role: 'assistant'; content: string | null; tool_calls?: ChatToolCall[] } & ChatReasoning)
  | { role: 'tool'; tool_call_id: string; content: string | ChatTextPart[] }

export type ChatFunction = {
  type: 'function'
  function: { name: string; description?: string; parameters: unknown; strict?: boolean }
}
export type ChatCustomTool = { type: 'custom'; custom: { name: string; description?: string; format?: Json } }
export type ChatTool = ChatFunction | ChatCustomTool

export type ChatRequest = {
  model: string
  messages: ChatMessage[]
  stream?: true
  stream_options?: { include_usage: true }
  max_tokens?: number
  max_completion_tokens?: number
  temperature?: number
  top_p?: number
  top_k?: number
  logprobs?: true
  top_logprobs?: number
  stop?: readonly string[]
  tools?: ChatTool[]
  tool_choice?: 'auto' | 'required' | 'none' | Json
  parallel_tool_calls?: boolean
  response_format?: Json
  reasoning_effort?: string
  verbosity?: string
  prompt_cache_key?: string
  user?: string
}
