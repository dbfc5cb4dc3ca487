import { describe, expect, it } from 'vitest'
import { dayAt, isTimeZone, makeDayAt, spanAt } from '../../src/spending/periods.ts'
import type { Period } from '../../src/spending/periods.ts'

describe('the period of a time', () => {
  it.each<[string, Period, string, string, [from: string, until: string, resetsAt: string]]>([
    ['a day of UTC', 'day', 'UTC', '2026-11-21T23:59:59.999Z', ['2026-11-21', '2026-11-22', '2026-11-22T00:00:00Z']],
    ['its first instant', 'day', 'UTC', '2026-11-22T00:00:00Z', ['2026-11-22', '2026-11-23', '2026-11-23T00:00:00Z']],
    [
      'a day of Berlin in winter',
      'day',
      'Europe/Berlin',
      '2026-11-21T23:30:00Z',
      ['2026-11-22', '2026-11-23', '2026-11-22T23:00:00Z'],
    ],
    [
      'a day of 23 hours',
      'day',
      'Europe/Berlin',
      '2026-03-29T12:00:00Z',
      ['2026-03-29', '2026-03-30', '2026-03-29T22:00:00Z'],
    ],
    [
      'a day of 25 hours',
      'day',
      'America/New_York',
      '2026-11-02T04:59:59Z',
      ['2026-11-01', '2026-11-02', '2026-11-02T05:00:00Z'],
    ],
    [
      'the day before one that begins at 01:00, because the clock skips midnight',
      'day',
      'Africa/Cairo',
      '2026-04-23T12:00:00Z',
      ['2026-04-23', '2026-04-24', '2026-04-23T22:00:00Z'],
    ],
    [
      'a day of a zone with a quarter of an hour',
      'day',
      'Asia/Kathmandu',
      '2026-11-21T18:20:00Z',
      ['2026-11-22', '2026-11-23', '2026-11-22T18:15:00Z'],
    ],
    ['a week on a Sunday', 'week', 'UTC', '2026-11-22T12:00:00Z', ['2026-11-16', '2026-11-23', '2026-11-23T00:00:00Z']],
    ['a week on a Monday', 'week', 'UTC', '2026-11-23T00:00:00Z', ['2026-11-23', '2026-11-30', '2026-11-30T00:00:00Z']],
    [
      'a week over the end of the year',
      'week',
      'Pacific/Auckland',
      '2026-12-31T12:00:00Z',
      ['2026-12-28', '2027-01-04', '2027-01-03T11:00:00Z'],
    ],
    ['a month', 'month', 'UTC', '2028-02-29T12:00:00Z', ['2028-02-01', '2028-03-01', '2028-03-01T00:00:00Z']],
    [
      'a month in which the clock changes',
      'month',
      'Europe/Berlin',
      '2026-10-31T23:30:00Z',
      ['2026-11-01', '2026-12-01', '2026-11-30T23:00:00Z'],
    ],
    ['December', 'month', 'Asia/Tokyo', '2026-12-31T14:59:00Z', ['2026-12-01', '2027-01-01', '2026-12-31T15:00:00Z']],
  ])('is %s', (_, period, zone, at, [from, until, resetsAt]) => {
    expect(spanAt(period, zone, new Date(at))).toEqual({ from, until, resetsAt: new Date(resetsAt) })
  })
})

it('the day of each call is the day of its zone, over the changes of the day and of the clock', () => {
  const dayOf = makeDayAt()
  const start = Date.parse('2026-10-24T00:00:00Z')
  for (let minutes = 0; minutes < 3 * 24 * 60; minutes += 7) {
    const at = new Date(start + minutes * 60_000)
    for (const zone of ['Europe/Berlin', 'Asia/Kathmandu']) expect(dayOf(zone, at)).toBe(dayAt(zone, at))
  }
  // A clock that was set back.
  expect(dayOf('Europe/Berlin', new Date(start))).toBe('2026-10-24')
})

it('time zones are IANA names', () => {
  const names = ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', '+01:00', 'Europe/Nowhere', '', 'now']
  expect(names.filter(isTimeZone)).toEqual(names.slice(0, 3))
})
