import { describe, expect, it } from 'vitest'
import { makeBoundedLabels } from '../../src/gateway/usage/bounded-labels.ts'

describe('the labels of teams and models', () => {
  it('are the names of the first 100 teams, and `other` for further ones', () => {
    const bound = makeBoundedLabels()
    for (let at = 0; at < 100; at++) expect(bound(`@a/${at}`, 'm')).toEqual([`@a/${at}`, 'm'])
    expect(bound('@a/100', 'm')).toEqual(['other', 'other'])
    expect(bound('@a/0', 'm')).toEqual(['@a/0', 'm'])
  })

  it('are the names of the first 500 pairs, and `other` for further models of a known team', () => {
    const bound = makeBoundedLabels()
    for (let at = 0; at < 500; at++) expect(bound('@a/b', `m${at}`)).toEqual(['@a/b', `m${at}`])
    expect(bound('@a/b', 'm500')).toEqual(['@a/b', 'other'])
    expect(bound('@a/c', 'm0')).toEqual(['@a/c', 'other'])
  })
})
