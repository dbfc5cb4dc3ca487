import type { Agent } from './agent.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { opencode } from './opencode.ts'

/** The coding agents that `svc run` and `svc setup` know, by name. */
export const AGENTS = { codex, claude, opencode } as const satisfies Readonly<Record<string, Agent>>

export type AgentName = keyof typeof AGENTS

export const AGENT_NAMES = Object.keys(AGENTS) as AgentName[]
