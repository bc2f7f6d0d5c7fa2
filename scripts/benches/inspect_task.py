"""The same items and calls through inspect-ai's mock model; run by the Python of its own environment.

`python inspect_task.py SAID`, where SAID is what `children.py replies` wrote. Logging, tracing and concurrency are left
at inspect-ai's defaults; only its display is off.
"""

import json
import sys
from pathlib import Path

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import solver


@solver
def four_calls(source):
    async def solve(state, generate):
        model = get_model()
        for number, texts in enumerate(state.metadata["calls"]):
            system, *rest = texts
            user = (source if number == 0 else "") + "\n".join(rest)
            state.output = await model.generate([ChatMessageSystem(content=system), ChatMessageUser(content=user)])
        return state

    return solve


@task
def same_items(said):
    content = json.loads(Path(said).read_text("utf-8"))
    samples = [
        Sample(
            input=item["calls"][0][-1][-500:], id=item["id"], target=item["answers"], metadata={"calls": item["calls"]}
        )
        for item in content["items"]
    ]
    return Task(dataset=MemoryDataset(samples), solver=four_calls(content["source"]), scorer=includes())


if __name__ == "__main__":
    [log] = eval(same_items(sys.argv[1]), model="mockllm/model", display="none")
    print(json.dumps({"status": log.status, "samples": len(log.samples or [])}))
