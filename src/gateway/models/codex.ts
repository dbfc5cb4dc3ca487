import { namesAtWorker } from './rules.ts'
import type { ModelEntry } from './rules.ts'

/**
 * Writes `ModelInfo` of Codex's protocol crate: every required member, and no capability that is not known. `position`
 * is the place of the model in the list.
 */
export function toCodexModel({ name, model }: ModelEntry, position: number) {
  const { displayName, contextWindow, caps } = model
  const levels = EFFORTS.filter(({ effort }) => caps.efforts?.includes(effort))
  const defaultLevel = levels.find(({ effort }) => effort === 'medium') ?? levels[0]
  return {
    slug: name,
    display_name: displayName,
    description: null,
    ...(defaultLevel && { default_reasoning_level: defaultLevel.effort }),
    supported_reasoning_levels: levels,
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority: position,
    availability_nux: null,
    upgrade: null,
    base_instructions: CODEX_INSTRUCTIONS,
    supports_reasoning_summaries: levels.length > 0,
    support_verbosity: false,
    default_verbosity: null,
    // Calls with a custom tool are translated for the worker, also where it speaks the dialect of Codex.
    apply_patch_tool_type: namesAtWorker(model).length > 0 ? null : 'freeform',
    truncation_policy: { mode: 'bytes', limit: 10_000 },
    supports_parallel_tool_calls: true,
    // Codex compacts at 90 % of the context window.
    ...(contextWindow !== null && { context_window: contextWindow }),
    input_modalities: caps.images === false ? ['text'] : ['text', 'image'],
    experimental_supported_tools: [],
    // With it, Codex sends its tools as an item of the input, which only vendor C's own models read.
    use_responses_lite: false,
  }
}

/** Codex discards the whole list when it does not know an effort, so `max` is left out: older versions lack it. */
const EFFORTS = [
  { effort: 'none', description: 'No reasoning' },
  { effort: 'minimal', description: 'The least reasoning' },
  { effort: 'low', description: 'Light reasoning' },
  { effort: 'medium', description: 'A balance of speed and reasoning' },
  { effort: 'high', description: 'More reasoning, for complex problems' },
  { effort: 'xhigh', description: 'The most reasoning, for the hardest problems' },
] as const

/**
 * Codex uses this instead of its own prompt, so it must contain all instructions for an agent. An indented line
 * continues the line before it.
 */
const CODEX_INSTRUCTIONS =
  `You are a coding agent. You work in a person's terminal, in the folder they opened, through the tools you are
  given.

- Do what is asked and finish it. Look before you change: search and read the files that matter, and follow the
  conventions you find there, including AGENTS.md files of the folder you work in and of those above it.
- Keep changes small and to the point. Fix causes rather than symptoms. Do not touch what is not part of the task,
  and never undo changes that you did not make.
- Use the shell tool for commands. Edit files with apply_patch where you have that tool, else through the shell.
  Prefer rg to grep and find. Do not run commands that destroy work or reach beyond the task unless you were asked
  to.
- Check your work with the tests, type checks or linters that the project has, and say so when you could not.
- Before a group of commands, say in a sentence what you are about to do. At the end say briefly what changed,
  where, and what is left. Give paths and commands in backticks.
- When a command is refused by the sandbox or needs approval, ask for it through the tool instead of working
  around it.
- If you are not sure what is wanted and cannot find out, ask one short question; otherwise make a reasonable
  choice and name it.`.replaceAll('\n  ', ' ')
