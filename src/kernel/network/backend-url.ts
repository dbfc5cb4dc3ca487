/**
 * The `/v1` with which vendors end their addresses. The URLs of backends go without it, because the paths of calls
 * begin with it.
 */
export const VERSION_AT_END = /\/v1\/*$/

/** Whether Claude models of Google's Vertex AI are at this path. Calls of them have paths and bodies of their own. */
export function isVertexPath(apiPath: string): boolean {
  return apiPath.endsWith('/publishers/anthropic/models')
}
