/**
 * A comment for statements whose best plan depends on their values, such as the days of a report: the database parses
 * and plans them each time. It plans other statements a few times for their values, and then once for any values,
 * unless that seems to take longer (PostgreSQL, `plan_cache_mode`).
 */
export const PLANNED_FOR_VALUES = '/* planned for its values */'
