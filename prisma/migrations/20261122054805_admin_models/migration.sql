-- AlterTable
ALTER TABLE "teams" ADD COLUMN     "admin_default_model" TEXT;

-- CreateTable
CREATE TABLE "admin_models" (
    "id" TEXT NOT NULL,
    "team_id" UUID NOT NULL,
    "display_name" TEXT NOT NULL,
    "aliases" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "serve" JSONB NOT NULL,
    "context_window" INTEGER,
    "caps" JSONB NOT NULL DEFAULT '{}',
    "published" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "admin_models_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "admin_models_team_id_idx" ON "admin_models"("team_id");

-- AddForeignKey
ALTER TABLE "admin_models" ADD CONSTRAINT "admin_models_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "teams"("id") ON DELETE CASCADE ON UPDATE CASCADE;
