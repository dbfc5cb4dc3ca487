-- CreateIndex
CREATE INDEX "agent_sessions_of_service_accounts_idx" ON "agent_sessions"("team", "service_account", "last_active_at") WHERE (service_account IS NOT NULL);
