"""Walks the calls of python-hcloud against the service that HCLOUD_ENDPOINT names, and says which of them fail."""
import os
import sys

from hcloud import APIException, Client
from hcloud.firewalls.domain import FirewallResource, FirewallRule
from hcloud.networks.domain import NetworkRoute, NetworkSubnet
from hcloud.servers.domain import ServerCreatePublicNetwork

client = Client(token=os.environ["HCLOUD_TOKEN"], api_endpoint=os.environ["HCLOUD_ENDPOINT"], poll_interval=0.1)
counted = {"calls": 0, "faults": 0}


def fault(name, what):
    counted["faults"] += 1
    print(f"{name}: {what}")


def call(kind, method, *args, refused=None, **more):
    """Calls a method, waits for the actions that it began, and returns its result."""
    counted["calls"] += 1
    title = f"{kind}.{method}"
    try:
        result = getattr(getattr(client, kind), method)(*args, **more)
        begun = [result, getattr(result, "action", None), *(getattr(result, "next_actions", None) or [])]
        begun += result if isinstance(result, list) else []
        for action in begun:
            if hasattr(action, "wait_until_finished"):
                action.wait_until_finished()
    except APIException as error:
        if error.code != refused:
            fault(title, f"{error.code}: {error.message}")
        return None
    if refused:
        fault(title, f"expected the error {refused}")
    return result


def read(kind, one):
    """Calls the methods that read a kind of object, of which there is one at least."""
    for name, args in {"get_all": [], "get_list": [], "get_by_id": [one.id], "get_by_name": [one.name]}.items():
        if hasattr(getattr(client, kind), name) and not call(kind, name, *args):
            fault(f"{kind}.{name}", "found nothing")


place = client.locations.get_all()[0]
kind = client.server_types.get_all()[0]
image = client.images.get_all(type=["system"])[0]
read("locations", place)
read("server_types", kind)
read("images", image)
read("datacenters", client.datacenters.get_all()[0])
iso = client.isos.get_all()[0]
read("isos", iso)

key = call("ssh_keys", "create", name="walk", public_key=sys.argv[1])
read("ssh_keys", key)
call("ssh_keys", "get_by_fingerprint", key.fingerprint)
call("ssh_keys", "update", key, name="walked")

network = call("networks", "create", name="walk", ip_range="10.9.0.0/24")
subnet = NetworkSubnet(ip_range="10.9.0.0/24", network_zone=place.network_zone, type="cloud")
call("networks", "add_subnet", network, subnet=subnet)
read("networks", network)
call("networks", "update", network, name="walked")
route = NetworkRoute(destination="10.0.0.0/16", gateway="10.9.0.2")
call("networks", "add_route", network, route, refused="unsupported_error")
call("networks", "change_ip_range", network, ip_range="10.9.0.0/16", refused="unsupported_error")
call("networks", "change_protection", network, delete=True, refused="unsupported_error")

rule = FirewallRule(direction="in", protocol="tcp", port="443", source_ips=["0.0.0.0/0"])
firewall = call("firewalls", "create", name="walk", rules=[rule]).firewall
read("firewalls", firewall)
call("firewalls", "update", firewall, name="walked")
call("firewalls", "set_rules", firewall, [rule])

without = ServerCreatePublicNetwork(enable_ipv4=False, enable_ipv6=False)
order = {"server_type": kind, "image": image, "location": place, "ssh_keys": [key], "labels": {"env": "walk"}}
server = call("servers", "create", name="walk", networks=[network], public_net=without, **order).server
read("servers", server)
call("actions", "get_by_id", client.servers.get_actions(server)[0].id)
call("servers", "get_all", label_selector="env=walk")
call("servers", "update", server, name="walked")
for name in ["reboot", "reset", "power_off", "power_on", "shutdown"]:
    call("servers", name, server)
call("servers", "change_type", server, client.server_types.get_by_name("micro"), upgrade_disk=True)
for name in ["power_on", "reset_password", "enable_rescue", "disable_rescue", "enable_backup", "disable_backup"]:
    call("servers", name, server)
call("servers", "attach_iso", server, iso)
call("servers", "detach_iso", server)
copy = call("servers", "create_image", server, description="walk", type="snapshot").image
call("images", "update", copy, description="walked")
call("images", "delete", copy)
call("servers", "rebuild", server, image)
call("servers", "request_console", server, refused="unsupported_error")
for is_on in [True, False]:
    call("servers", "change_protection", server, delete=is_on, rebuild=is_on)
call("servers", "detach_from_network", server, network)
call("servers", "attach_to_network", server, network)
call("servers", "change_alias_ips", server, network, ["10.9.0.9"], refused="unsupported_error")

where = [FirewallResource(type="server", server=server)]
call("firewalls", "apply_to_resources", firewall, where)
call("firewalls", "remove_from_resources", firewall, where)
call("firewalls", "delete", firewall)

volume = call("volumes", "create", 10, "walk", location=place).volume
read("volumes", volume)
call("volumes", "update", volume, name="walked")
call("volumes", "attach", volume, server)
call("volumes", "resize", volume, 12)
call("volumes", "detach", volume)
call("volumes", "change_protection", volume, delete=True, refused="unsupported_error")
call("volumes", "delete", volume)

call("servers", "power_off", server)
floating = call("floating_ips", "create", type="ipv4", home_location=place).floating_ip
read("floating_ips", floating)
call("floating_ips", "change_dns_ptr", floating, floating.ip, "walk.example.com")
call("floating_ips", "assign", floating, server)
call("floating_ips", "unassign", floating)
call("floating_ips", "delete", floating)
own = call("primary_ips", "create", "ipv4", client.datacenters.get_all()[0], "walk").primary_ip
read("primary_ips", own)
call("primary_ips", "assign", own, server.id, "server")
call("primary_ips", "unassign", own)
call("primary_ips", "change_dns_ptr", own, own.ip, "walk.example.com")
call("primary_ips", "delete", own)

call("servers", "delete", server)
call("networks", "delete", network)
call("ssh_keys", "delete", key)
call("placement_groups", "get_all", refused="not_found")
call("load_balancers", "get_all", refused="not_found")
call("certificates", "get_all", refused="not_found")
print(f"{counted['calls']} calls, {counted['faults']} faults")
sys.exit(counted["faults"] > 0)
