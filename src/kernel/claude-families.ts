/** A family of models that Claude Code calls by names of its own. */
type ClaudeFamily = {
  /** Its name in the lists of Claude Code. */
  readonly name: string
  /** How the names of its models begin. */
  readonly prefix: string
  /** The environment variable that names another model for the family. */
  readonly variable: string
  /** Called only where the person has chosen it. Claude Code starts with the others, or uses them in the background. */
  readonly isChosenOnly: boolean
}

/** The families of Claude Code 2.1. */
export const CLAUDE_FAMILIES: readonly ClaudeFamily[] = [
  { name: 'opus', prefix: 'claude-opus-', variable: 'ANTHROPIC_DEFAULT_OPUS_MODEL', isChosenOnly: false },
  { name: 'sonnet', prefix: 'claude-sonnet-', variable: 'ANTHROPIC_DEFAULT_SONNET_MODEL', isChosenOnly: false },
  { name: 'haiku', prefix: 'claude-haiku-', variable: 'ANTHROPIC_DEFAULT_HAIKU_MODEL', isChosenOnly: false },
  { name: 'fable', prefix: 'claude-fable-', variable: 'ANTHROPIC_DEFAULT_FABLE_MODEL', isChosenOnly: true },
]
