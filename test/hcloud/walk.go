// Walks the calls of hcloud-go's client against the service that HCLOUD_ENDPOINT names, and says which of them fail.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/hetznercloud/hcloud-go/hcloud"
)

var (
	ctx    = context.Background()
	client = hcloud.NewClient(
		hcloud.WithEndpoint(os.Getenv("HCLOUD_ENDPOINT")),
		hcloud.WithToken(os.Getenv("HCLOUD_TOKEN")),
		hcloud.WithPollInterval(50*time.Millisecond),
	)
	calls, faults int
)

func fault(call string, err error) {
	faults++
	fmt.Printf("%s: %v\n", call, err)
}

// wait ends with the actions that a call began.
func wait(call string, actions ...*hcloud.Action) {
	for _, action := range actions {
		if action == nil {
			continue
		}
		_, failed := client.Action.WatchProgress(ctx, action)
		if err := <-failed; err != nil {
			fault(call, err)
		}
	}
}

// done counts a call that must work.
func done(call string, err error, actions ...*hcloud.Action) {
	calls++
	if err != nil {
		fault(call, err)
		return
	}
	wait(call, actions...)
}

// refused counts a call that must end with an error of this code.
func refused(call string, code hcloud.ErrorCode, err error) {
	calls++
	if !hcloud.IsError(err, code) {
		fault(call, fmt.Errorf("expected the error %s, got %v", code, err))
	}
}

// read calls every method that reads a kind of object: List, All, and those that get one by its id or name.
func read(kind string, sub interface{}, id int, name string) {
	methods := reflect.ValueOf(sub)
	for at := 0; at < methods.NumMethod(); at++ {
		method, called := methods.Type().Method(at).Name, methods.Method(at)
		args := []reflect.Value{reflect.ValueOf(ctx)}
		switch {
		case method == "GetByID":
			args = append(args, reflect.ValueOf(id))
		case method == "GetByName" || method == "Get" && called.Type().NumIn() == 2:
			args = append(args, reflect.ValueOf(name))
		case method == "List" || method == "AllWithOpts":
			args = append(args, reflect.Zero(called.Type().In(1)))
		case method != "All":
			continue
		}
		results := called.Call(args)
		err, _ := results[len(results)-1].Interface().(error)
		found := results[0]
		if err == nil && strings.HasPrefix(method, "Get") && found.IsNil() {
			err = fmt.Errorf("no %s %d %s", kind, id, name)
		}
		if err == nil && !strings.HasPrefix(method, "Get") && found.Len() == 0 {
			err = fmt.Errorf("an empty list")
		}
		done(kind+"."+method, err)
	}
}

// must ends the program if a call fails without which the rest means nothing.
func must(call string, err error, actions ...*hcloud.Action) {
	done(call, err, actions...)
	if err != nil {
		report()
	}
}

func report() {
	fmt.Printf("%d calls, %d faults\n", calls, faults)
	if faults > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

func readCatalogue() (*hcloud.ServerType, *hcloud.Image, *hcloud.Location) {
	types, err := client.ServerType.All(ctx)
	must("ServerType.All", err)
	read("ServerType", &client.ServerType, types[0].ID, types[0].Name)
	images, err := client.Image.AllWithOpts(ctx, hcloud.ImageListOpts{Type: []hcloud.ImageType{hcloud.ImageTypeSystem}})
	must("Image.AllWithOpts", err)
	read("Image", &client.Image, images[0].ID, images[0].Name)
	locations, err := client.Location.All(ctx)
	must("Location.All", err)
	read("Location", &client.Location, locations[0].ID, locations[0].Name)
	centers, err := client.Datacenter.All(ctx)
	must("Datacenter.All", err)
	read("Datacenter", &client.Datacenter, centers[0].ID, centers[0].Name)
	isos, err := client.ISO.All(ctx)
	must("ISO.All", err)
	read("ISO", &client.ISO, isos[0].ID, isos[0].Name)
	_, _, err = client.Pricing.Get(ctx)
	done("Pricing.Get", err)
	return types[0], images[0], locations[0]
}

func walkKey(public string) *hcloud.SSHKey {
	key, _, err := client.SSHKey.Create(ctx, hcloud.SSHKeyCreateOpts{Name: "walk", PublicKey: public})
	must("SSHKey.Create", err)
	read("SSHKey", &client.SSHKey, key.ID, key.Name)
	found, _, err := client.SSHKey.GetByFingerprint(ctx, key.Fingerprint)
	if err == nil && found == nil {
		err = fmt.Errorf("no key of this fingerprint")
	}
	done("SSHKey.GetByFingerprint", err)
	_, _, err = client.SSHKey.Update(ctx, key, hcloud.SSHKeyUpdateOpts{Name: "walked"})
	done("SSHKey.Update", err)
	return key
}

func walkNetwork(place *hcloud.Location) *hcloud.Network {
	_, own, _ := net.ParseCIDR("10.9.0.0/24")
	network, _, err := client.Network.Create(ctx, hcloud.NetworkCreateOpts{Name: "walk", IPRange: own})
	must("Network.Create", err)
	subnet := hcloud.NetworkSubnet{Type: hcloud.NetworkSubnetTypeCloud, IPRange: own, NetworkZone: place.NetworkZone}
	action, _, err := client.Network.AddSubnet(ctx, network, hcloud.NetworkAddSubnetOpts{Subnet: subnet})
	done("Network.AddSubnet", err, action)
	read("Network", &client.Network, network.ID, network.Name)
	_, _, err = client.Network.Update(ctx, network, hcloud.NetworkUpdateOpts{Name: "walked"})
	done("Network.Update", err)
	_, wide, _ := net.ParseCIDR("10.9.0.0/16")
	_, _, err = client.Network.ChangeIPRange(ctx, network, hcloud.NetworkChangeIPRangeOpts{IPRange: wide})
	refused("Network.ChangeIPRange", "unsupported_error", err)
	route := hcloud.NetworkRoute{Destination: wide, Gateway: net.ParseIP("10.9.0.2")}
	_, _, err = client.Network.AddRoute(ctx, network, hcloud.NetworkAddRouteOpts{Route: route})
	refused("Network.AddRoute", "unsupported_error", err)
	_, _, err = client.Network.ChangeProtection(ctx, network, hcloud.NetworkChangeProtectionOpts{Delete: hcloud.Bool(true)})
	refused("Network.ChangeProtection", "unsupported_error", err)
	return network
}

func walkServer(kind *hcloud.ServerType, image *hcloud.Image, place *hcloud.Location, key *hcloud.SSHKey, network *hcloud.Network) *hcloud.Server {
	made, _, err := client.Server.Create(ctx, hcloud.ServerCreateOpts{
		Name: "walk", ServerType: kind, Image: image, Location: place, SSHKeys: []*hcloud.SSHKey{key},
		Labels:    map[string]string{"env": "walk"},
		Networks:  []*hcloud.Network{network},
		PublicNet: &hcloud.ServerCreatePublicNet{EnableIPv4: false, EnableIPv6: false},
	})
	must("Server.Create", err, append(made.NextActions, made.Action)...)
	server := made.Server
	read("Server", &client.Server, server.ID, server.Name)
	_, _, err = client.Action.GetByID(ctx, made.Action.ID)
	done("Action.GetByID", err)
	_, err = client.Action.All(ctx)
	refused("Action.All", "deprecated_api_endpoint", err)
	labeled := hcloud.ServerListOpts{ListOpts: hcloud.ListOpts{LabelSelector: "env=walk"}}
	found, err := client.Server.AllWithOpts(ctx, labeled)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%d servers of the label", len(found))
	}
	done("Server.AllWithOpts of a label", err)
	_, _, err = client.Server.Update(ctx, server, hcloud.ServerUpdateOpts{Name: "walked"})
	done("Server.Update", err)
	power := map[string]func(context.Context, *hcloud.Server) (*hcloud.Action, *hcloud.Response, error){
		"1 Reboot": client.Server.Reboot, "2 Reset": client.Server.Reset, "3 Poweroff": client.Server.Poweroff,
		"4 Poweron": client.Server.Poweron, "5 Shutdown": client.Server.Shutdown,
	}
	for _, name := range []string{"1 Reboot", "2 Reset", "3 Poweroff", "4 Poweron", "5 Shutdown"} {
		action, _, err := power[name](ctx, server)
		done("Server."+name[2:], err, action)
	}
	larger, _, err := client.ServerType.GetByName(ctx, "micro")
	must("ServerType.GetByName", err)
	action, _, err := client.Server.ChangeType(ctx, server, hcloud.ServerChangeTypeOpts{ServerType: larger})
	done("Server.ChangeType", err, action)
	action, _, err = client.Server.Poweron(ctx, server)
	done("Server.Poweron", err, action)
	reset, _, err := client.Server.ResetPassword(ctx, server)
	done("Server.ResetPassword", err, reset.Action)
	rescue, _, err := client.Server.EnableRescue(ctx, server, hcloud.ServerEnableRescueOpts{Type: hcloud.ServerRescueTypeLinux64})
	done("Server.EnableRescue", err, rescue.Action)
	action, _, err = client.Server.DisableRescue(ctx, server)
	done("Server.DisableRescue", err, action)
	iso, _, err := client.ISO.GetByName(ctx, "installer")
	must("ISO.GetByName", err)
	action, _, err = client.Server.AttachISO(ctx, server, iso)
	done("Server.AttachISO", err, action)
	action, _, err = client.Server.DetachISO(ctx, server)
	done("Server.DetachISO", err, action)
	description := "walk"
	copied, _, err := client.Server.CreateImage(ctx, server, &hcloud.ServerCreateImageOpts{Type: hcloud.ImageTypeSnapshot, Description: &description})
	done("Server.CreateImage", err, copied.Action)
	if err == nil {
		name := "walked"
		_, _, err = client.Image.Update(ctx, copied.Image, hcloud.ImageUpdateOpts{Description: &name})
		done("Image.Update", err)
		_, err = client.Image.Delete(ctx, copied.Image)
		done("Image.Delete", err)
	}
	action, _, err = client.Server.Rebuild(ctx, server, hcloud.ServerRebuildOpts{Image: image})
	done("Server.Rebuild", err, action)
	action, _, err = client.Server.EnableBackup(ctx, server, "")
	done("Server.EnableBackup", err, action)
	action, _, err = client.Server.DisableBackup(ctx, server)
	done("Server.DisableBackup", err, action)
	for _, isOn := range []bool{true, false} {
		action, _, err = client.Server.ChangeProtection(ctx, server, hcloud.ServerChangeProtectionOpts{Delete: &isOn, Rebuild: &isOn})
		done("Server.ChangeProtection", err, action)
	}
	_, _, err = client.Server.GetMetrics(ctx, server, hcloud.ServerGetMetricsOpts{
		Types: []hcloud.ServerMetricType{hcloud.ServerMetricCPU, hcloud.ServerMetricDisk, hcloud.ServerMetricNetwork},
		Start: time.Now().Add(-time.Hour), End: time.Now(),
	})
	done("Server.GetMetrics", err)
	_, _, err = client.Server.RequestConsole(ctx, server)
	refused("Server.RequestConsole", "unsupported_error", err)
	return server
}

func walkCards(server *hcloud.Server, network *hcloud.Network) {
	action, _, err := client.Server.DetachFromNetwork(ctx, server, hcloud.ServerDetachFromNetworkOpts{Network: network})
	done("Server.DetachFromNetwork", err, action)
	action, _, err = client.Server.AttachToNetwork(ctx, server, hcloud.ServerAttachToNetworkOpts{Network: network})
	done("Server.AttachToNetwork", err, action)
	_, _, err = client.Server.ChangeAliasIPs(ctx, server, hcloud.ServerChangeAliasIPsOpts{Network: network, AliasIPs: []net.IP{net.ParseIP("10.9.0.9")}})
	refused("Server.ChangeAliasIPs", "unsupported_error", err)
	action, _, err = client.Server.DetachFromNetwork(ctx, server, hcloud.ServerDetachFromNetworkOpts{Network: network})
	done("Server.DetachFromNetwork", err, action)
}

func walkFirewall(server *hcloud.Server) {
	_, all, _ := net.ParseCIDR("0.0.0.0/0")
	port := "443"
	rules := []hcloud.FirewallRule{{Direction: hcloud.FirewallRuleDirectionIn, Protocol: hcloud.FirewallRuleProtocolTCP, Port: &port, SourceIPs: []net.IPNet{*all}}}
	made, _, err := client.Firewall.Create(ctx, hcloud.FirewallCreateOpts{Name: "walk", Rules: rules})
	must("Firewall.Create", err, made.Actions...)
	read("Firewall", &client.Firewall, made.Firewall.ID, made.Firewall.Name)
	_, _, err = client.Firewall.Update(ctx, made.Firewall, hcloud.FirewallUpdateOpts{Name: "walked"})
	done("Firewall.Update", err)
	actions, _, err := client.Firewall.SetRules(ctx, made.Firewall, hcloud.FirewallSetRulesOpts{Rules: rules})
	done("Firewall.SetRules", err, actions...)
	on := []hcloud.FirewallResource{{Type: hcloud.FirewallResourceTypeServer, Server: &hcloud.FirewallResourceServer{ID: server.ID}}}
	actions, _, err = client.Firewall.ApplyResources(ctx, made.Firewall, on)
	done("Firewall.ApplyResources", err, actions...)
	actions, _, err = client.Firewall.RemoveResources(ctx, made.Firewall, on)
	done("Firewall.RemoveResources", err, actions...)
	_, err = client.Firewall.Delete(ctx, made.Firewall)
	done("Firewall.Delete", err)
}

func walkVolume(server *hcloud.Server, place *hcloud.Location) {
	made, _, err := client.Volume.Create(ctx, hcloud.VolumeCreateOpts{Name: "walk", Size: 10, Location: place})
	must("Volume.Create", err, append(made.NextActions, made.Action)...)
	read("Volume", &client.Volume, made.Volume.ID, made.Volume.Name)
	_, _, err = client.Volume.Update(ctx, made.Volume, hcloud.VolumeUpdateOpts{Name: "walked"})
	done("Volume.Update", err)
	action, _, err := client.Volume.Attach(ctx, made.Volume, server)
	done("Volume.Attach", err, action)
	action, _, err = client.Volume.Resize(ctx, made.Volume, 12)
	done("Volume.Resize", err, action)
	action, _, err = client.Volume.Detach(ctx, made.Volume)
	done("Volume.Detach", err, action)
	_, _, err = client.Volume.ChangeProtection(ctx, made.Volume, hcloud.VolumeChangeProtectionOpts{Delete: hcloud.Bool(true)})
	refused("Volume.ChangeProtection", "unsupported_error", err)
	_, err = client.Volume.Delete(ctx, made.Volume)
	done("Volume.Delete", err)
}

func walkAddresses(server *hcloud.Server, place *hcloud.Location) {
	made, _, err := client.FloatingIP.Create(ctx, hcloud.FloatingIPCreateOpts{Type: hcloud.FloatingIPTypeIPv4, HomeLocation: place})
	must("FloatingIP.Create", err, made.Action)
	floating := made.FloatingIP
	read("FloatingIP", &client.FloatingIP, floating.ID, floating.Name)
	name := "walk.example.com"
	action, _, err := client.FloatingIP.ChangeDNSPtr(ctx, floating, floating.IP.String(), &name)
	done("FloatingIP.ChangeDNSPtr", err, action)
	action, _, err = client.RDNS.ChangeDNSPtr(ctx, floating, floating.IP, &name)
	done("RDNS.ChangeDNSPtr", err, action)
	action, _, err = client.Server.Poweroff(ctx, server)
	done("Server.Poweroff", err, action)
	action, _, err = client.FloatingIP.Assign(ctx, floating, server)
	done("FloatingIP.Assign", err, action)
	action, _, err = client.FloatingIP.Unassign(ctx, floating)
	done("FloatingIP.Unassign", err, action)
	_, _, err = client.FloatingIP.ChangeProtection(ctx, floating, hcloud.FloatingIPChangeProtectionOpts{Delete: hcloud.Bool(true)})
	refused("FloatingIP.ChangeProtection", "unsupported_error", err)
	_, err = client.FloatingIP.Delete(ctx, floating)
	done("FloatingIP.Delete", err)
	no := false
	primary, _, err := client.PrimaryIP.Create(ctx, hcloud.PrimaryIPCreateOpts{Name: "walk", Type: hcloud.PrimaryIPTypeIPv4, AssigneeType: "server", Datacenter: place.Name + "-dc1", AutoDelete: &no})
	must("PrimaryIP.Create", err, primary.Action)
	own := primary.PrimaryIP
	read("PrimaryIP", &client.PrimaryIP, own.ID, own.Name)
	_, _, err = client.PrimaryIP.GetByIP(ctx, own.IP.String())
	done("PrimaryIP.GetByIP", err)
	action, _, err = client.PrimaryIP.Assign(ctx, hcloud.PrimaryIPAssignOpts{ID: own.ID, AssigneeID: server.ID, AssigneeType: "server"})
	done("PrimaryIP.Assign", err, action)
	action, _, err = client.PrimaryIP.Unassign(ctx, own.ID)
	done("PrimaryIP.Unassign", err, action)
	action, _, err = client.PrimaryIP.ChangeDNSPtr(ctx, hcloud.PrimaryIPChangeDNSPtrOpts{ID: own.ID, IP: own.IP.String(), DNSPtr: name})
	done("PrimaryIP.ChangeDNSPtr", err, action)
	_, err = client.PrimaryIP.Delete(ctx, own)
	done("PrimaryIP.Delete", err)
}

// The argument is an OpenSSH public key.
func main() {
	kind, image, place := readCatalogue()
	key := walkKey(os.Args[1])
	network := walkNetwork(place)
	server := walkServer(kind, image, place, key, network)
	walkCards(server, network)
	walkFirewall(server)
	walkVolume(server, place)
	walkAddresses(server, place)
	_, err := client.Server.Delete(ctx, server)
	done("Server.Delete", err)
	_, err = client.Network.Delete(ctx, network)
	done("Network.Delete", err)
	_, err = client.SSHKey.Delete(ctx, key)
	done("SSHKey.Delete", err)
	_, _, err = client.PlacementGroup.Create(ctx, hcloud.PlacementGroupCreateOpts{Name: "walk", Type: hcloud.PlacementGroupTypeSpread})
	refused("PlacementGroup.Create", hcloud.ErrorCodeNotFound, err)
	_, err = client.LoadBalancer.All(ctx)
	refused("LoadBalancer.All", hcloud.ErrorCodeNotFound, err)
	_, err = client.Certificate.All(ctx)
	refused("Certificate.All", hcloud.ErrorCodeNotFound, err)
	report()
}
