-- CreateIndex
CREATE INDEX "audit_events_team_id_at_id_idx" ON "audit_events"("team_id", "at", "id");
