"""A client of `collegium serve plant.clgdb`: learn some rows, then predict others.

pip install httpx
python examples/client.py [http://127.0.0.1:8080]
"""

import sys
import uuid

import httpx

rows = [{"t": 71.5, "p": 2.0, "customer": 7, "yield": 60.8}]
with httpx.Client(base_url=sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080") as service:
    body = {"id": str(uuid.uuid4()), "rows": rows, "source": "press 4"}
    learnt = service.post("/v1/learn", json=body).raise_for_status().json()
    print("learnt as event", learnt["lsn"])
    asked = {"rows": [{"t": 70.0, "p": 2.5}], "interval": 0.9}
    found = service.post("/v1/predict", json=asked).raise_for_status().json()
    print(f"{found['mean'][0]:.1f}, 90% within {found['lower'][0]:.1f} … {found['upper'][0]:.1f}")
