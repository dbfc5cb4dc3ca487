/**
 * Whether an engine that answers so knows the path of a call, and lacks the model: its error names the model. llama.cpp
 * has the status 400 where it serves several models.
 */
export function isModelMissing(status: number, error: string, model: string): boolean {
  return status === 404 ? error.includes(model) : status === 400 && error.includes(`model '${model}' not found`)
}
