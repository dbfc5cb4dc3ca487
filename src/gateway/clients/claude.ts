/**
 * The settings of Claude Code for a team. Claude Code asks for models by names of its own, which are aliases where the
 * directory says so. For the families of names that are no aliases, the settings name the team's model instead.
 */
import { createHash } from 'node:crypto'
import { CLAUDE_FAMILIES } from '../../kernel/claude-families.ts'
import { mayCall, offerModels } from '../models/rules.ts'
import type { ModelTeam } from '../models/rules.ts'

/** The settings of a team; a team that may call no model gets an empty list. */
export function toClaudeSettings(team: ModelTeam) {
  const { entries, first: model } = offerModels(team)
  const named = CLAUDE_FAMILIES.filter(({ prefix }) => mayCall(team, prefix)).map(({ name }) => name)
  const replaced = model ? CLAUDE_FAMILIES.filter(({ prefix }) => !mayCall(team, prefix)) : []
  return {
    ...(model && replaced.some(({ isChosenOnly }) => !isChosenOnly) && { model }),
    availableModels: [...entries.map(({ name }) => name), ...named],
    modelPicker: { options: entries.map(({ name, model: { displayName } }) => ({ model: name, label: displayName })) },
    ...(replaced.length > 0 && { env: Object.fromEntries(replaced.map(({ variable }) => [variable, model])) }),
  }
}

/** The document that Claude Code reads: the settings with their version, which is a hash of them. */
export function toManagedSettings(team: ModelTeam) {
  const settings = toClaudeSettings(team)
  const checksum = createHash('sha256').update(JSON.stringify(settings)).digest('base64url')
  return { uuid: checksum, checksum, settings }
}
