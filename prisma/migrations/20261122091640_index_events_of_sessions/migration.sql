-- DropIndex
DROP INDEX "call_events_team_session_id_id_idx";

-- CreateIndex
CREATE INDEX "call_events_of_sessions_idx" ON "call_events"("team", "session_id", "id") WHERE (session_id IS NOT NULL);
