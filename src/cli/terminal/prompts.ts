/** Loads the questions of `@clack/prompts`. Ctrl-D cancels a question, as Ctrl-C does. */
export async function loadPrompts() {
  const { confirm, isCancel, text, updateSettings } = await import('@clack/prompts')
  // At Ctrl-D, readline stops to read the terminal. Without this, a question would never be answered.
  updateSettings({ aliases: { '\u0004': 'cancel' } })
  return { confirm, isCancel, text }
}
