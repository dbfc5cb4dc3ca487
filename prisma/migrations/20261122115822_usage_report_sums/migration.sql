-- CreateTable
CREATE TABLE "usage_team_days" (
    "team" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "model" TEXT NOT NULL,
    "backend" TEXT NOT NULL,
    "dialect" "Dialect" NOT NULL,
    "calls" INTEGER NOT NULL,
    "failed_calls" INTEGER NOT NULL,
    "unknown_calls" INTEGER NOT NULL,
    "estimated_calls" INTEGER NOT NULL,
    "priced_calls" INTEGER NOT NULL,
    "unpriced_calls" INTEGER NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "cache_read_tokens" BIGINT NOT NULL,
    "cache_write_tokens" BIGINT NOT NULL,
    "cache_write_long_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "reasoning_tokens" BIGINT NOT NULL,
    "cost_nano_usd" BIGINT NOT NULL,

    CONSTRAINT "usage_team_days_pkey" PRIMARY KEY ("team","day","model","backend","dialect")
);

-- CreateTable
CREATE TABLE "usage_caller_months" (
    "team" TEXT NOT NULL,
    "month" DATE NOT NULL,
    "account_id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "calls" INTEGER NOT NULL,
    "failed_calls" INTEGER NOT NULL,
    "unknown_calls" INTEGER NOT NULL,
    "estimated_calls" INTEGER NOT NULL,
    "priced_calls" INTEGER NOT NULL,
    "unpriced_calls" INTEGER NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "cache_read_tokens" BIGINT NOT NULL,
    "cache_write_tokens" BIGINT NOT NULL,
    "cache_write_long_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "reasoning_tokens" BIGINT NOT NULL,
    "cost_nano_usd" BIGINT NOT NULL,

    CONSTRAINT "usage_caller_months_pkey" PRIMARY KEY ("team","month","account_id","key_id")
);

-- The database keeps the smaller sums, so that they also have what gateways of the version before add to usage_days.
-- Adds new rows.
CREATE FUNCTION usage_days_after_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM added) THEN
    RETURN NULL;
  END IF;

  INSERT INTO usage_team_days (
    team, day, model, backend, dialect, calls, failed_calls, unknown_calls, estimated_calls, priced_calls,
    unpriced_calls, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens,
    reasoning_tokens, cost_nano_usd
  )
  SELECT team, day, model, backend, dialect,
    sum(calls), sum(failed_calls), sum(unknown_calls), sum(estimated_calls), sum(priced_calls), sum(unpriced_calls),
    sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_long_tokens),
    sum(output_tokens), sum(reasoning_tokens), sum(cost_nano_usd)
  FROM added
  GROUP BY team, day, model, backend, dialect
  ON CONFLICT (team, day, model, backend, dialect) DO UPDATE SET
    calls = usage_team_days.calls + excluded.calls,
    failed_calls = usage_team_days.failed_calls + excluded.failed_calls,
    unknown_calls = usage_team_days.unknown_calls + excluded.unknown_calls,
    estimated_calls = usage_team_days.estimated_calls + excluded.estimated_calls,
    priced_calls = usage_team_days.priced_calls + excluded.priced_calls,
    unpriced_calls = usage_team_days.unpriced_calls + excluded.unpriced_calls,
    input_tokens = usage_team_days.input_tokens + excluded.input_tokens,
    cache_read_tokens = usage_team_days.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = usage_team_days.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_long_tokens = usage_team_days.cache_write_long_tokens + excluded.cache_write_long_tokens,
    output_tokens = usage_team_days.output_tokens + excluded.output_tokens,
    reasoning_tokens = usage_team_days.reasoning_tokens + excluded.reasoning_tokens,
    cost_nano_usd = usage_team_days.cost_nano_usd + excluded.cost_nano_usd;

  INSERT INTO usage_caller_months (
    team, month, account_id, key_id, calls, failed_calls, unknown_calls, estimated_calls, priced_calls,
    unpriced_calls, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens,
    reasoning_tokens, cost_nano_usd
  )
  SELECT team, date_trunc('month', day)::date, account_id, key_id,
    sum(calls), sum(failed_calls), sum(unknown_calls), sum(estimated_calls), sum(priced_calls), sum(unpriced_calls),
    sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_long_tokens),
    sum(output_tokens), sum(reasoning_tokens), sum(cost_nano_usd)
  FROM added
  GROUP BY team, date_trunc('month', day)::date, account_id, key_id
  ON CONFLICT (team, month, account_id, key_id) DO UPDATE SET
    calls = usage_caller_months.calls + excluded.calls,
    failed_calls = usage_caller_months.failed_calls + excluded.failed_calls,
    unknown_calls = usage_caller_months.unknown_calls + excluded.unknown_calls,
    estimated_calls = usage_caller_months.estimated_calls + excluded.estimated_calls,
    priced_calls = usage_caller_months.priced_calls + excluded.priced_calls,
    unpriced_calls = usage_caller_months.unpriced_calls + excluded.unpriced_calls,
    input_tokens = usage_caller_months.input_tokens + excluded.input_tokens,
    cache_read_tokens = usage_caller_months.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = usage_caller_months.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_long_tokens = usage_caller_months.cache_write_long_tokens + excluded.cache_write_long_tokens,
    output_tokens = usage_caller_months.output_tokens + excluded.output_tokens,
    reasoning_tokens = usage_caller_months.reasoning_tokens + excluded.reasoning_tokens,
    cost_nano_usd = usage_caller_months.cost_nano_usd + excluded.cost_nano_usd;

  RETURN NULL;
END
$$;

-- Adds what rows have more than before.
CREATE FUNCTION usage_days_after_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM added) THEN
    RETURN NULL;
  END IF;

  INSERT INTO usage_team_days (
    team, day, model, backend, dialect, calls, failed_calls, unknown_calls, estimated_calls, priced_calls,
    unpriced_calls, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens,
    reasoning_tokens, cost_nano_usd
  )
  SELECT team, day, model, backend, dialect,
    sum(calls), sum(failed_calls), sum(unknown_calls), sum(estimated_calls), sum(priced_calls), sum(unpriced_calls),
    sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_long_tokens),
    sum(output_tokens), sum(reasoning_tokens), sum(cost_nano_usd)
  FROM (
    SELECT * FROM added
    UNION ALL
    SELECT
      team, day, account_id, key_id, model, backend, dialect, -calls, -failed_calls, -unknown_calls, -estimated_calls,
      -priced_calls, -unpriced_calls, -input_tokens, -cache_read_tokens, -cache_write_tokens,
      -cache_write_long_tokens, -output_tokens, -reasoning_tokens, -cost_nano_usd
    FROM removed
  ) AS changed
  GROUP BY team, day, model, backend, dialect
  ON CONFLICT (team, day, model, backend, dialect) DO UPDATE SET
    calls = usage_team_days.calls + excluded.calls,
    failed_calls = usage_team_days.failed_calls + excluded.failed_calls,
    unknown_calls = usage_team_days.unknown_calls + excluded.unknown_calls,
    estimated_calls = usage_team_days.estimated_calls + excluded.estimated_calls,
    priced_calls = usage_team_days.priced_calls + excluded.priced_calls,
    unpriced_calls = usage_team_days.unpriced_calls + excluded.unpriced_calls,
    input_tokens = usage_team_days.input_tokens + excluded.input_tokens,
    cache_read_tokens = usage_team_days.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = usage_team_days.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_long_tokens = usage_team_days.cache_write_long_tokens + excluded.cache_write_long_tokens,
    output_tokens = usage_team_days.output_tokens + excluded.output_tokens,
    reasoning_tokens = usage_team_days.reasoning_tokens + excluded.reasoning_tokens,
    cost_nano_usd = usage_team_days.cost_nano_usd + excluded.cost_nano_usd;

  INSERT INTO usage_caller_months (
    team, month, account_id, key_id, calls, failed_calls, unknown_calls, estimated_calls, priced_calls,
    unpriced_calls, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens,
    reasoning_tokens, cost_nano_usd
  )
  SELECT team, date_trunc('month', day)::date, account_id, key_id,
    sum(calls), sum(failed_calls), sum(unknown_calls), sum(estimated_calls), sum(priced_calls), sum(unpriced_calls),
    sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_long_tokens),
    sum(output_tokens), sum(reasoning_tokens), sum(cost_nano_usd)
  FROM (
    SELECT * FROM added
    UNION ALL
    SELECT
      team, day, account_id, key_id, model, backend, dialect, -calls, -failed_calls, -unknown_calls, -estimated_calls,
      -priced_calls, -unpriced_calls, -input_tokens, -cache_read_tokens, -cache_write_tokens,
      -cache_write_long_tokens, -output_tokens, -reasoning_tokens, -cost_nano_usd
    FROM removed
  ) AS changed
  GROUP BY team, date_trunc('month', day)::date, account_id, key_id
  ON CONFLICT (team, month, account_id, key_id) DO UPDATE SET
    calls = usage_caller_months.calls + excluded.calls,
    failed_calls = usage_caller_months.failed_calls + excluded.failed_calls,
    unknown_calls = usage_caller_months.unknown_calls + excluded.unknown_calls,
    estimated_calls = usage_caller_months.estimated_calls + excluded.estimated_calls,
    priced_calls = usage_caller_months.priced_calls + excluded.priced_calls,
    unpriced_calls = usage_caller_months.unpriced_calls + excluded.unpriced_calls,
    input_tokens = usage_caller_months.input_tokens + excluded.input_tokens,
    cache_read_tokens = usage_caller_months.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = usage_caller_months.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_long_tokens = usage_caller_months.cache_write_long_tokens + excluded.cache_write_long_tokens,
    output_tokens = usage_caller_months.output_tokens + excluded.output_tokens,
    reasoning_tokens = usage_caller_months.reasoning_tokens + excluded.reasoning_tokens,
    cost_nano_usd = usage_caller_months.cost_nano_usd + excluded.cost_nano_usd;

  RETURN NULL;
END
$$;

-- Creating a trigger takes a lock that keeps gateways from writing until the sums below are there.
CREATE TRIGGER usage_days_after_insert AFTER INSERT ON "usage_days" REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION usage_days_after_insert();

CREATE TRIGGER usage_days_after_update AFTER UPDATE ON "usage_days" REFERENCING OLD TABLE AS removed NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION usage_days_after_update();

-- The sums of the days that are stored already.
INSERT INTO "usage_team_days" (
  team, day, model, backend, dialect, calls, failed_calls, unknown_calls, estimated_calls, priced_calls,
  unpriced_calls, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens,
  reasoning_tokens, cost_nano_usd
)
SELECT team, day, model, backend, dialect,
  sum(calls), sum(failed_calls), sum(unknown_calls), sum(estimated_calls), sum(priced_calls), sum(unpriced_calls),
  sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_long_tokens),
  sum(output_tokens), sum(reasoning_tokens), sum(cost_nano_usd)
FROM usage_days
GROUP BY team, day, model, backend, dialect;

INSERT INTO "usage_caller_months" (
  team, month, account_id, key_id, calls, failed_calls, unknown_calls, estimated_calls, priced_calls, unpriced_calls,
  input_tokens, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, reasoning_tokens,
  cost_nano_usd
)
SELECT team, date_trunc('month', day)::date, account_id, key_id,
  sum(calls), sum(failed_calls), sum(unknown_calls), sum(estimated_calls), sum(priced_calls), sum(unpriced_calls),
  sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_long_tokens),
  sum(output_tokens), sum(reasoning_tokens), sum(cost_nano_usd)
FROM usage_days
GROUP BY team, date_trunc('month', day)::date, account_id, key_id;
