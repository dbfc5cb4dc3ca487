-- CreateTable
CREATE TABLE "agent_sessions" (
    "team" TEXT NOT NULL,
    "account_id" UUID NOT NULL,
    "session_id" TEXT NOT NULL,
    "service_account" TEXT,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "last_active_at" TIMESTAMPTZ(3) NOT NULL,
    "model" TEXT NOT NULL,
    "calls" INTEGER NOT NULL DEFAULT 0,
    "failed_calls" INTEGER NOT NULL DEFAULT 0,
    "input_tokens" BIGINT NOT NULL DEFAULT 0,
    "output_tokens" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "agent_sessions_pkey" PRIMARY KEY ("team","account_id","session_id")
);

-- CreateIndex
CREATE INDEX "agent_sessions_team_last_active_at_idx" ON "agent_sessions"("team", "last_active_at");

-- CreateIndex
CREATE INDEX "agent_sessions_last_active_at_idx" ON "agent_sessions"("last_active_at");

-- The sessions of the events that are stored already.
INSERT INTO "agent_sessions"
SELECT team, account_id, session_id, max(service_account), min(at), date_trunc('minute', max(at)),
  (array_agg(model ORDER BY id DESC))[1], count(*) FILTER (WHERE kind IN ('finished', 'failed')),
  count(*) FILTER (WHERE kind = 'failed'),
  coalesce(sum(coalesce(input_tokens, uncached_tokens + coalesce(cached_tokens, 0) + coalesce(cache_write_tokens, 0)
    + coalesce(cache_write_long_tokens, 0))), 0),
  coalesce(sum(output_tokens), 0)
FROM "call_events"
WHERE session_id IS NOT NULL
GROUP BY team, account_id, session_id;
