import { engineCases } from "@belay/testkit/engines";
import { inject } from "vitest";
import { kit } from "./testing.ts";

engineCases(kit, inject("effort"));
