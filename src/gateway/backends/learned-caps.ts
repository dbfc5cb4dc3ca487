import { putNewest } from '../../kernel/bounded-map.ts'
import type { ModelCaps } from '../dialects/caps.ts'

/** What answers have taught about the models of a backend. The `caps` of the directory come before it. */
export type LearnedCaps = {
  /** `model` is the model's name at the backend. */
  of(model: string): Partial<ModelCaps>
  note(model: string, caps: Partial<ModelCaps>): void
}

const MAX_MODELS = 1000
const NOTHING = {}

export function openLearnedCaps(): LearnedCaps {
  const byModel = new Map<string, Partial<ModelCaps>>()
  return {
    of: (model) => byModel.get(model) ?? NOTHING,
    note(model, caps) {
      putNewest(byModel, model, { ...byModel.get(model), ...caps }, MAX_MODELS)
    },
  }
}
