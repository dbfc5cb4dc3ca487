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

-- The sums of the days that are stored already.
INSERT INTO "usage_team_days"
SELECT team, day, model, backend, dialect,
  sum(calls), sum(failed_calls), sum(unknown_calls), sum(estimated_calls), sum(priced_calls), sum(unpriced_calls),
  sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_long_tokens),
  sum(output_tokens), sum(reasoning_tokens), sum(cost_nano_usd)
FROM "usage_days"
GROUP BY team, day, model, backend, dialect;

INSERT INTO "usage_caller_months"
SELECT team, date_trunc('month', day)::date, account_id, key_id,
  sum(calls), sum(failed_calls), sum(unknown_calls), sum(estimated_calls), sum(priced_calls), sum(unpriced_calls),
  sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_long_tokens),
  sum(output_tokens), sum(reasoning_tokens), sum(cost_nano_usd)
FROM "usage_days"
GROUP BY team, date_trunc('month', day)::date, account_id, key_id;
